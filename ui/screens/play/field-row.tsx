import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { Problem } from '../../parts/states.tsx'
import { labelOf, type RequestField } from './field.ts'
import { JsonEditor } from './json-editor.tsx'
import { numberIn, textsIn, textsShown } from './settings.ts'

interface Props {
  field: RequestField
  /** Distinguishes the fields of A from those of B. */
  side: string
  value: string | undefined
  /** The error that the server reported for it. */
  wrong: string | undefined
  models: readonly string[]
  onChange(json: string | undefined): void
}

/** One field: its name, its type and range, its effect. */
export function FieldRow({ field, side, value, wrong, models, onChange }: Props) {
  const { name, says, effect } = field
  const [id, label] = [`field-${side}-${name}`, labelOf(name)]
  return (
    <div
      class="field"
      data-kind={isShort(field) ? 'short' : 'long'}
      data-set={value !== undefined}
      data-wrong={wrong !== undefined}
    >
      <div class="field-head">
        <label for={id} title={name}>
          {label}
        </label>
        {value !== undefined && (
          <button
            type="button"
            class="quiet"
            aria-label={`Reset ${label} to its default`}
            title="Reset to default"
            onClick={() => onChange(undefined)}
          >
            <Icon name="close" />
          </button>
        )}
      </div>
      {effect !== 'refused' && (
        <Control {...{ field, id, value, models, onChange }} isInvalid={wrong !== undefined} />
      )}
      <Problem text={wrong} />
      <p class="field-says" id={`${id}-says`}>
        <span>{rangeText(field)}</span>
        <WithCode text={name === 'model' ? 'Which model answers.' : says} />
      </p>
    </div>
  )
}

/** What may be entered, in words for people; where it is chosen from a list, the list says it. */
function rangeText({ name, kind, range, initial }: RequestField): string {
  if (name === 'model' || kind === 'boolean' || kind === 'choice') return ''
  const words = range.replaceAll('integer', 'whole number').replaceAll('string', 'text')
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}${initial === undefined ? '' : `, default ${initial}`}. `
}

/** Its name and its value fit next to each other. */
const isShort = ({ kind, effect }: RequestField) =>
  effect !== 'refused' && (kind === 'number' || kind === 'boolean' || kind === 'choice')

interface ControlProps extends Pick<Props, 'field' | 'value' | 'models' | 'onChange'> {
  id: string
  isInvalid: boolean
}

function Control({ field, id, value, models, isInvalid, onChange }: ControlProps) {
  const { name, kind, initial, choices = [] } = field
  const about = { id, 'aria-describedby': `${id}-says`, 'aria-invalid': isInvalid }
  const [isOther, setOther] = useState(false)
  if (name === 'model') {
    return (
      <Select
        {...{ about, value, onChange }}
        absent={`first model${models[0] ? `: ${models[0]}` : ''}`}
        options={models.map((one) => JSON.stringify(one))}
      />
    )
  }
  switch (kind) {
    case 'boolean':
      return (
        <Select {...{ about, value, onChange }} absent={initial ?? 'not sent'} options={['true', 'false']} />
      )
    case 'choice':
      return (
        <Select
          {...{ about, value, onChange }}
          absent={initial ?? 'not sent'}
          options={choices.map((one) => JSON.stringify(one))}
        />
      )
    case 'number':
      return <NumberField {...{ about, value, initial, onChange }} />
    case 'text':
      return (
        <textarea
          {...about}
          rows={1}
          spellcheck={false}
          value={value === undefined ? '' : String(JSON.parse(value))}
          onInput={({ currentTarget: { value: text } }) =>
            onChange(text === '' ? undefined : JSON.stringify(text))
          }
        />
      )
    case 'texts':
      return <TextsField {...{ about, value, onChange }} />
    case 'json': {
      const options = choices.map((one) => JSON.stringify(one))
      const editor = (
        <JsonEditor
          id={options.length > 0 ? `${id}-json` : id}
          label={`${labelOf(name)} as JSON`}
          value={value ?? ''}
          describedBy={`${id}-says`}
          {...{ isInvalid, onChange }}
        />
      )
      if (options.length === 0) return editor
      const isJson = isOther || (value !== undefined && !options.includes(value))
      return (
        <>
          <Select
            {...{ about, options }}
            value={isJson ? 'other' : value}
            absent={initial ?? 'not sent'}
            other="an object"
            onChange={(next) => {
              setOther(next === 'other')
              onChange(next === 'other' ? undefined : next)
            }}
          />
          {isJson && editor}
        </>
      )
    }
  }
}

interface SelectProps {
  about: object
  value: string | undefined
  options: readonly string[]
  absent: string
  other?: string
  onChange(json: string | undefined): void
}

function Select({ about, value, options, absent, other, onChange }: SelectProps) {
  const isListed = value === undefined || value === 'other' || options.includes(value)
  return (
    <select
      {...about}
      value={value ?? ''}
      onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
    >
      <option value="">{absent}</option>
      {!isListed && <option value={value}>{value}</option>}
      {options.map((one) => (
        <option key={one} value={one}>
          {one.replace(/^"|"$/g, '')}
        </option>
      ))}
      {other !== undefined && <option value="other">{other}</option>}
    </select>
  )
}

interface NumberProps {
  about: object
  value: string | undefined
  initial: string | undefined
  onChange(json: string | undefined): void
}

/** Kept as text, so that a number of 64 bits keeps its digits. */
function NumberField({ about, value, initial, onChange }: NumberProps) {
  const [text, setText] = useState(value ?? '')
  const [told, setTold] = useState(value)
  if (value !== told) {
    setTold(value)
    setText(value ?? '')
  }
  const isNumber = text.trim() === '' || numberIn(text) !== undefined
  return (
    <>
      <input
        {...about}
        inputMode="decimal"
        autocomplete="off"
        placeholder={initial ?? 'not sent'}
        value={text}
        onInput={({ currentTarget: { value: next } }) => {
          setText(next)
          const json = numberIn(next)
          if (json === undefined && next.trim() !== '') return
          setTold(json)
          onChange(json)
        }}
      />
      {!isNumber && (
        <p class="problem" role="status">
          A number is expected; this is not sent.
        </p>
      )}
    </>
  )
}

/** The text is what the user typed; the list that it stands for is sent. */
function TextsField({ about, value, onChange }: Omit<NumberProps, 'initial'>) {
  const [text, setText] = useState(value === undefined ? '' : textsShown(value))
  const [told, setTold] = useState(value)
  if (value !== told) {
    setTold(value)
    setText(value === undefined ? '' : textsShown(value))
  }
  return (
    <textarea
      {...about}
      rows={2}
      spellcheck={false}
      placeholder="one per line, or a JSON list"
      value={text}
      onInput={({ currentTarget: { value: next } }) => {
        const json = next === '' ? undefined : textsIn(next)
        setText(next)
        setTold(json)
        onChange(json)
      }}
    />
  )
}

/** Names in these sentences are marked as in Markdown. */
function WithCode({ text }: { text: string }): ComponentChildren {
  return text.split('`').map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))
}
