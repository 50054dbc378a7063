import type { TargetedKeyboardEvent } from 'preact'
import { useState } from 'preact/hooks'
import { type Draft, textOf as draftText, groupOf, validateDraft } from './draft.ts'
import type { Field, Option } from './field.ts'

interface Props {
  id: string
  field: Field
  draft: Draft
  isDisabled: boolean
  onChange(draft: Draft): void
}

/** The control for one question. */
export function FieldInput({ id, field, draft, isDisabled, onChange }: Props) {
  const label = `${id}-label`
  switch (field.kind) {
    case 'choice':
      return (
        <Chips
          {...{ id, label, options: field.options, isDisabled }}
          chosen={typeof draft === 'string' ? [draft] : []}
          onToggle={(json) => onChange(json === draft ? undefined : json)}
        />
      )
    case 'choices': {
      const chosen = Array.isArray(draft) ? (draft as readonly string[]) : []
      return (
        <Chips
          {...{ id, label, options: field.options, isDisabled, chosen }}
          onToggle={(json) =>
            onChange(chosen.includes(json) ? chosen.filter((one) => one !== json) : [...chosen, json])
          }
        />
      )
    }
    case 'number': {
      const { min, max, isInteger } = field
      const text = draftText(draft)
      return (
        <div class="in-line">
          {min !== undefined && max !== undefined && (
            <input
              type="range"
              class={text === '' ? 'is-unset' : ''}
              aria-labelledby={label}
              min={min}
              max={max}
              step={isInteger ? 1 : (max - min) / 100}
              disabled={isDisabled}
              value={text === '' ? String((min + max) / 2) : text}
              onInput={({ currentTarget }) => onChange(currentTarget.value)}
            />
          )}
          <input
            id={id}
            class="number-box"
            inputMode="decimal"
            aria-labelledby={label}
            disabled={isDisabled}
            value={text}
            onInput={({ currentTarget }) => onChange(currentTarget.value)}
          />
        </div>
      )
    }
    case 'text':
    case 'json':
      return (
        <textarea
          id={id}
          class={field.kind === 'json' ? 'code-field' : ''}
          aria-labelledby={label}
          rows={field.kind === 'json' ? 5 : 2}
          spellcheck={field.kind === 'text'}
          placeholder={field.kind === 'json' ? 'JSON' : ''}
          disabled={isDisabled}
          value={draftText(draft)}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
        />
      )
    case 'group': {
      const given = groupOf(draft)
      return (
        <div class="group-field">
          {field.members.map((member) => {
            const inner = `${id}-${member.name}`
            const { problem } = validateDraft(member.field, given[member.name])
            return (
              <div key={member.name} class="question" data-field={inner}>
                <div class="question-title" id={`${inner}-label`}>
                  {member.title}
                  {member.isNeeded && <span class="muted"> required</span>}
                </div>
                <FieldInput
                  id={inner}
                  field={member.field}
                  draft={given[member.name]}
                  isDisabled={isDisabled}
                  onChange={(next) => onChange({ ...given, [member.name]: next })}
                />
                {problem && <p class="problem">{problem}</p>}
              </div>
            )
          })}
        </div>
      )
    }
  }
}

interface ChipsProps {
  id: string
  label: string
  options: readonly Option[]
  chosen: readonly string[]
  isDisabled: boolean
  onToggle(json: string): void
}

/** One tab stop: arrow keys move between the chips, and each has a number key. */
function Chips({ id, label, options, chosen, isDisabled, onToggle }: ChipsProps) {
  const first = options.findIndex(({ json }) => chosen.includes(json))
  const [stop, setStop] = useState(Math.max(0, first))
  return (
    <div id={id} class="chips" role="group" aria-labelledby={label}>
      {options.map(({ label: name, json, key }, index) => (
        <button
          key={json}
          type="button"
          class="chip"
          aria-pressed={chosen.includes(json)}
          tabIndex={index === stop ? 0 : -1}
          disabled={isDisabled}
          data-key={key}
          onClick={() => onToggle(json)}
          onFocus={() => setStop(index)}
          onKeyDown={walk}
        >
          {key !== undefined && key !== name && <kbd>{key}</kbd>}
          {name}
        </button>
      ))}
    </div>
  )
}

function walk(event: TargetedKeyboardEvent<HTMLButtonElement>): void {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key]
  if (by === undefined) return
  event.preventDefault()
  const chips = [...(event.currentTarget.parentElement?.children ?? [])] as HTMLElement[]
  const at = chips.indexOf(event.currentTarget)
  chips[(at + by + chips.length) % chips.length]?.focus()
}
