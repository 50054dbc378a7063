import { useState } from 'preact/hooks'
import { longestEdited } from './long-text.ts'
import { MessageText } from './message-text.tsx'

interface Props {
  id: string
  label: string
  value: string
  describedBy: string | undefined
  rows?: number
  isInvalid: boolean
  /** Called with undefined for an empty text, and not called for invalid JSON. */
  onChange(json: string | undefined): void
}

/** The text, checked once per key press: for a megabyte that takes some milliseconds. */
interface Written {
  text: string
  problem: string | undefined
  /** It is, or was, too long to be laid out whole at each key press. */
  isLong: boolean
  /** Whether the user typed it, or it came from elsewhere. */
  isOwn: boolean
}

const given = (text: string): Written => ({
  text,
  problem: problemOf(text),
  isLong: text.length > longestEdited,
  isOwn: false,
})

/** A JSON text with line numbers, unless it is long. Its value is reported whenever it is valid JSON. */
export function JsonEditor({ id, label, value, describedBy, rows = 1, isInvalid, onChange }: Props) {
  const [written, setWritten] = useState(() => given(value))
  const [told, setTold] = useState(value)
  const [turn, setTurn] = useState(0)
  // The value was changed from outside.
  if (value !== told) {
    setTold(value)
    setWritten(given(value))
    setTurn(turn + 1)
  }
  const { text, problem, isLong, isOwn } = written
  const write = (next: string) => {
    const wrong = problemOf(next)
    setWritten({
      text: next,
      problem: wrong,
      isLong: isLong || next.length > longestEdited,
      isOwn: true,
    })
    if (wrong !== undefined) return
    setTold(next.trim())
    onChange(next.trim() === '' ? undefined : next.trim())
  }
  const about = {
    id,
    'aria-describedby': describedBy,
    'aria-invalid': problem !== undefined || isInvalid,
    spellcheck: false,
  }
  return (
    <div class="json-editor">
      {isLong ? (
        <div class="json-editor-ends">
          <MessageText
            key={turn}
            {...{ label, text }}
            placeholder=""
            about={{ ...about, id: undefined }}
            isWriting={isOwn}
            onText={write}
          />
        </div>
      ) : (
        <Lined {...{ label, text, about, write }} least={rows} />
      )}
      {problem !== undefined && (
        <p class="problem" role="status">
          {problem}
        </p>
      )}
    </div>
  )
}

interface LinedProps {
  label: string
  text: string
  about: object
  /** Shows at least this many line numbers. */
  least: number
  write(text: string): void
}

function Lined({ label, text, about, least, write }: LinedProps) {
  const lines = Math.max(least, text.split('\n').length)
  /** Intercepts a long text before the browser lays it out. */
  const paste = (event: ClipboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    const { value, selectionStart, selectionEnd } = event.currentTarget
    const pasted = (event.clipboardData?.getData('text/plain') ?? '').replace(/\r\n?/g, '\n')
    const whole = value.slice(0, selectionStart) + pasted + value.slice(selectionEnd)
    if (whole.length <= longestEdited) return
    event.preventDefault()
    write(whole)
  }
  return (
    <div class="json-editor-lines">
      <pre aria-hidden="true">{Array.from({ length: lines }, (_, index) => index + 1).join('\n')}</pre>
      <textarea
        {...about}
        aria-label={label}
        wrap="off"
        rows={lines}
        value={text}
        onPaste={paste}
        onInput={({ currentTarget }) => write(currentTarget.value)}
      />
    </div>
  )
}

function problemOf(text: string): string | undefined {
  if (text.trim() === '') return undefined
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return `Not valid JSON yet: ${(error as Error).message}`
  }
}
