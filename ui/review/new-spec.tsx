import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Select } from '../parts/select.tsx'
import { Problem } from '../parts/states.tsx'
import { useWork } from '../parts/work.ts'
import { createObject, refOfCreated } from '../server/objects.ts'

const kinds = {
  choice: 'One choice',
  choices: 'Several choices',
  boolean: 'Yes or no',
  scale: 'Whole number in a range',
  number: 'Number in a range',
  text: 'Text',
  json: 'JSON Schema',
} as const

type Kind = keyof typeof kinds

interface Draft {
  kind: Kind
  words: string
  min: string
  max: string
  schema: string
}

interface Props {
  project: string
  onMade(ref: string): void
  onClose(): void
}

/** Makes an annotation spec: a question, and its possible answers. It is part of another form, so it has no form element. */
export function NewSpec({ project, onMade, onClose }: Props) {
  const [title, setTitle] = useState('')
  const [draft, setDraft] = useState<Draft>({ kind: 'choice', words: '', min: '1', max: '5', schema: '' })
  const { isWorking, failure, work } = useWork()
  const first = useRef<HTMLInputElement>(null)
  // A layout effect, because the next key may be pressed before the next paint.
  useLayoutEffect(() => first.current?.focus(), [])
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes })
  const { kind, words, min, max, schema } = draft
  const schemaText = schemaOf(draft)
  const id = idOf(title)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter') return
    // Enter would submit the surrounding form.
    event.preventDefault()
    void work(make)
  }
  const make = async () => {
    if (schemaText === undefined || id === '') return
    const val = `{"name":${JSON.stringify(title.trim())},"field_schema":${schemaText}}`
    const made = await createObject(project, id, val, { builtin_object_class: 'AnnotationSpec' })
    onMade(refOfCreated(project, made))
  }
  return (
    <div class="form is-inner">
      <label for="spec-title">Question</label>
      <input
        {...{ onKeyDown }}
        id="spec-title"
        maxLength={100}
        placeholder="Is the answer right?"
        value={title}
        onInput={({ currentTarget }) => setTitle(currentTarget.value)}
        ref={first}
      />
      <label for="spec-kind">Answer</label>
      <Select id="spec-kind" choices={kinds} value={kind} onChange={(next) => change({ kind: next })} />
      {(kind === 'choice' || kind === 'choices') && (
        <>
          <label for="spec-words">Choices, separated by commas</label>
          <input
            {...{ onKeyDown }}
            id="spec-words"
            placeholder="right, partly, wrong"
            value={words}
            onInput={({ currentTarget }) => change({ words: currentTarget.value })}
          />
        </>
      )}
      {(kind === 'scale' || kind === 'number') && (
        <div class="in-line">
          <label for="spec-min">From</label>
          <input
            {...{ onKeyDown }}
            id="spec-min"
            inputMode="decimal"
            size={5}
            value={min}
            onInput={({ currentTarget }) => change({ min: currentTarget.value })}
          />
          <label for="spec-max">to</label>
          <input
            {...{ onKeyDown }}
            id="spec-max"
            inputMode="decimal"
            size={5}
            value={max}
            onInput={({ currentTarget }) => change({ max: currentTarget.value })}
          />
        </div>
      )}
      {kind === 'json' && (
        <>
          <label for="spec-schema">JSON Schema</label>
          <textarea
            id="spec-schema"
            class="code-field"
            rows={5}
            spellcheck={false}
            value={schema}
            onInput={({ currentTarget }) => change({ schema: currentTarget.value })}
          />
        </>
      )}
      <Problem text={failure?.message} />
      <div class="dialog-buttons">
        {id !== '' && <span class="muted">Saved as {id}</span>}
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button
          type="button"
          disabled={schemaText === undefined || id === '' || isWorking}
          onClick={() => void work(make)}
        >
          Add question
        </button>
      </div>
    </div>
  )
}

/** Names of objects consist of letters, digits, "_", "." and "-". */
const idOf = (title: string): string =>
  title
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9_.-]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 128)

/** Undefined while something is missing. */
function schemaOf({ kind, words, min, max, schema }: Draft): string | undefined {
  const list = [...new Set(words.split(',').map((word) => word.trim()))].filter((word) => word !== '')
  const [from, to] = [Number(min), Number(max)]
  const isRange = min.trim() !== '' && max.trim() !== '' && from < to
  switch (kind) {
    case 'boolean':
      return '{"type":"boolean"}'
    case 'text':
      return '{"type":"string"}'
    case 'choice':
      return list.length < 2 ? undefined : JSON.stringify({ enum: list })
    case 'choices':
      return list.length < 2
        ? undefined
        : JSON.stringify({ type: 'array', items: { enum: list }, uniqueItems: true })
    case 'scale':
      if (!isRange || !Number.isInteger(from) || !Number.isInteger(to)) return undefined
      return JSON.stringify({ type: 'integer', minimum: from, maximum: to })
    case 'number':
      return isRange ? JSON.stringify({ type: 'number', minimum: from, maximum: to }) : undefined
    case 'json':
      try {
        JSON.parse(schema)
        return schema
      } catch {
        return undefined
      }
  }
}
