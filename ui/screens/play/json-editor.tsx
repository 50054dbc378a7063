import { useState } from 'preact/hooks'
import { isJson } from './settings.ts'

interface Props {
  id: string
  label: string
  value: string
  describedBy: string | undefined
  rows?: number
  isInvalid: boolean
  /** Undefined where nothing is written. What is no JSON yet is not told. */
  onChange(json: string | undefined): void
}

/** A text with the numbers of its lines. What is written is sent when it is JSON. */
export function JsonEditor({ id, label, value, describedBy, rows = 1, isInvalid, onChange }: Props) {
  const [text, setText] = useState(value)
  const [told, setTold] = useState(value)
  // Something else has changed it.
  if (value !== told) {
    setTold(value)
    setText(value)
  }
  const problem = problemOf(text)
  const lines = Math.max(rows, text.split('\n').length)
  return (
    <div class="json-editor">
      <div class="json-editor-lines">
        <pre aria-hidden="true">{Array.from({ length: lines }, (_, index) => index + 1).join('\n')}</pre>
        <textarea
          id={id}
          aria-label={label}
          aria-describedby={describedBy}
          aria-invalid={problem !== undefined || isInvalid}
          spellcheck={false}
          wrap="off"
          rows={lines}
          value={text}
          onInput={({ currentTarget }) => {
            const next = currentTarget.value
            setText(next)
            const json = next.trim() === '' ? undefined : next.trim()
            if (json !== undefined && !isJson(json)) return
            setTold(json ?? '')
            onChange(json)
          }}
        />
      </div>
      {problem !== undefined && (
        <p class="problem" role="status">
          {problem}
        </p>
      )}
    </div>
  )
}

function problemOf(text: string): string | undefined {
  if (text.trim() === '') return undefined
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return `This is no JSON yet: ${(error as Error).message}`
  }
}
