import { Fragment } from 'preact'
import type { Check } from '../../../src/operations/scorers/contract.ts'

export type CheckKind = Check['kind']

/** What is entered for checks: texts, by the kind and the name of a field. A ticked box has `yes`. */
export type CheckValues = Readonly<Record<string, string>>

export const checkKinds: Record<CheckKind, string> = {
  contains: 'A check: the answer contains texts, or does not',
  regex: 'A check: the answer matches a pattern, or does not',
  json_schema: 'A check: the answer fits a JSON Schema',
  length: 'A check: the answer is long or short enough',
  latency: 'A check: the call is fast enough',
  tokens: 'A check: the call used few enough tokens',
  cost: 'A check: the call was cheap enough',
}

type Form = 'lines' | 'text' | 'object' | 'number' | 'count' | 'tick'

const fieldsOfKind: Record<CheckKind, Record<string, [form: Form, label: string]>> = {
  contains: {
    any_of: ['lines', 'One of these texts, a line each'],
    all_of: ['lines', 'All of these texts, a line each'],
    none_of: ['lines', 'None of these texts, a line each'],
    ignore_case: ['tick', 'Upper and lower case are the same'],
  },
  regex: {
    pattern: ['text', 'Pattern, a regular expression of JavaScript'],
    negate: ['tick', 'It passes where the pattern is not found'],
  },
  json_schema: {
    schema: ['object', 'JSON Schema'],
    parse: ['tick', 'The field is a text that contains the JSON'],
  },
  length: {
    min: ['count', 'At least this many characters, or entries of a list'],
    max: ['count', 'At most this many characters, or entries of a list'],
  },
  latency: { max_ms: ['number', 'At most this many milliseconds'] },
  tokens: { max: ['count', 'At most this many tokens'] },
  cost: { max: ['number', 'At most this cost, in the currency of the prices'] },
}

export const usualChecks: CheckValues = { 'contains ignore_case': 'yes', 'json_schema parse': 'yes' }

/** The others are about the call as a whole. */
export const looksAtField = (kind: CheckKind): boolean => !/latency|tokens|cost/.test(kind)

const fieldsOf = (kind: CheckKind, values: CheckValues) =>
  Object.entries(fieldsOfKind[kind]).map(([name, [form, label]]) => {
    const key = `${kind} ${name}`
    return { key, name, form, label, text: values[key] ?? '' }
  })

export function checkOf(kind: CheckKind, values: CheckValues, field: string): object {
  const entered = fieldsOf(kind, values).flatMap(({ name, form, text }) =>
    text.trim() === '' ? [] : [[name, jsonOf(form, text)] as const],
  )
  return { kind, ...Object.fromEntries(entered), ...(looksAtField(kind) && { field }) }
}

function jsonOf(form: Form, text: string): unknown {
  if (form === 'lines') return text.split('\n').filter((line) => line !== '')
  if (form === 'object') return JSON.parse(text)
  return form === 'text' ? text : form === 'tick' || Number(text)
}

/** What a stored check asks for. */
export const checkText = (kind: string, check: Readonly<Record<string, unknown>>): string =>
  Object.entries(fieldsOfKind[kind as CheckKind] ?? {})
    .flatMap(([name, [form, label]]) => {
      const value = check[name]
      if (value == null || value === false) return []
      const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
      if (form === 'tick') return label
      const within = label.replace(/this (many|cost)/, text)
      return within === label ? `${label.replace(', a line each', '')}: ${text}` : within
    })
    .join('. ')

/** What is wrong or still to be filled in. */
export function checkProblem(kind: CheckKind, values: CheckValues): string | undefined {
  const fields = fieldsOf(kind, values)
  for (const { form, label, text } of fields) {
    if (form === 'count' && !/^\s*\d*\s*$/.test(text)) return `“${label}” takes a whole number.`
    if (form === 'number' && !(Number(text) >= 0)) return `“${label}” takes a number from 0.`
    if (form === 'object' && text.trim() !== '' && !isObject(text))
      return `“${label}” takes a JSON object, such as {"type": "object"}.`
  }
  const wanted = fields.filter(({ form }) => form !== 'tick')
  if (wanted.every(({ text }) => text.trim() === ''))
    return `Fill in ${wanted.map(({ label }) => `“${label}”`).join(' or ')}.`
  const [least, most] = wanted
  return kind === 'length' && most?.text.trim() && Number(least?.text) > Number(most.text)
    ? `“${least?.label}” is more than “${most.label}”.`
    : undefined
}

function isObject(text: string): boolean {
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/** A refusal of the server, with the label of the field in place of its name. */
export const checkRefusal = (kind: CheckKind, { message }: Error): Error =>
  new Error(
    message.replace(/^check\.(\w+)/, (path, name) => {
      const [, label] = fieldsOfKind[kind][name] ?? []
      return label === undefined ? path : `“${label}”`
    }),
  )

interface Props {
  kind: CheckKind
  values: CheckValues
  field: string
  onChange(changes: { values?: CheckValues; field?: string }): void
}

/** The fields of a check. */
export function CheckForm({ kind, values, field, onChange }: Props) {
  const set = (key: string, text: string) => onChange({ values: { ...values, [key]: text } })
  return (
    <>
      {fieldsOf(kind, values).map(({ key, name, form, label, text }) => {
        const id = `judge-${name}`
        const about = {
          id,
          value: text,
          onInput: ({ currentTarget }: { currentTarget: { value: string } }) => set(key, currentTarget.value),
        }
        if (form === 'tick')
          return (
            <label key={key}>
              <input
                type="checkbox"
                checked={text !== ''}
                onChange={({ currentTarget }) => set(key, currentTarget.checked ? 'yes' : '')}
              />{' '}
              {label}
            </label>
          )
        return (
          <Fragment key={key}>
            <label for={id}>{label}</label>
            {form === 'number' || form === 'count' ? (
              <input {...about} inputMode="decimal" />
            ) : (
              <textarea {...about} rows={form === 'object' ? 6 : 2} spellcheck={false} dir="auto" />
            )}
          </Fragment>
        )
      })}
      {looksAtField(kind) && (
        <>
          <label for="judge-field">Field of the call</label>
          <input
            id="judge-field"
            value={field}
            onInput={({ currentTarget }) => onChange({ field: currentTarget.value })}
          />
        </>
      )}
    </>
  )
}
