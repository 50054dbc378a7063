import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { countText } from '../../value/units.ts'
import { type Folded, folded, wholeOf } from './long-text.ts'

interface Props {
  label: string
  placeholder: string
  text: string
  /** Attributes of each text area: its description, whether it is invalid. */
  about?: object
  /** It has just been pasted or added, so the caret goes to its end. */
  isWriting?: boolean
  onText(text: string): void
}

/** The text of a message. Of a long one only the two ends are editable. */
export function MessageText({ label, placeholder, text, about, isWriting = false, onText }: Props) {
  const [fold, setFold] = useState<Folded | undefined>(() => folded(text))
  /** Position of the caret after the text areas are replaced. */
  const caret = useRef(isWriting ? text.length : undefined)
  /** The text area of the whole text, or of its end. */
  const last = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => {
    if (caret.current === undefined || last.current === null) return
    last.current.focus()
    last.current.setSelectionRange(caret.current, caret.current)
    caret.current = undefined
  }, [fold])

  /** Intercepts a long text before the browser lays it out. */
  const paste = (
    event: ClipboardEvent & { currentTarget: HTMLTextAreaElement },
    before = '',
    behind = '',
  ) => {
    const { value, selectionStart, selectionEnd } = event.currentTarget
    const pasted = (event.clipboardData?.getData('text/plain') ?? '').replace(/\r\n?/g, '\n')
    const rest = value.slice(selectionEnd) + behind
    const from = before.length + selectionStart
    const whole = before + value.slice(0, selectionStart) + pasted + rest
    const next = pasted.length > 1_000 ? folded(whole, from, from + pasted.length) : undefined
    if (next === undefined) return
    event.preventDefault()
    caret.current = Math.max(0, next.end.length - rest.length)
    setFold(next)
    onText(whole)
  }
  const change = (next: Folded) => {
    setFold(next)
    onText(wholeOf(next))
  }

  if (fold === undefined) {
    return (
      <textarea
        ref={last}
        aria-label={label}
        rows={1}
        {...about}
        placeholder={placeholder}
        value={text}
        onPaste={paste}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
    )
  }
  const { beginning, middle } = fold
  const unfold = (next: string) => {
    caret.current = beginning.length
    setFold(undefined)
    onText(next)
  }
  return (
    <>
      <textarea
        aria-label={`Beginning of ${label}`}
        rows={1}
        {...about}
        value={beginning}
        onPaste={(event) => paste(event, '', middle + fold.end)}
        onInput={({ currentTarget }) => change({ ...fold, beginning: currentTarget.value })}
      />
      <p class="folded muted">
        <span>{countText(middle.length)} characters in between are sent unchanged.</span>
        <button type="button" class="quiet" onClick={() => unfold(text)}>
          Edit all
        </button>
        <button type="button" class="quiet" onClick={() => unfold(beginning + fold.end)}>
          Remove them
        </button>
      </p>
      <textarea
        ref={last}
        aria-label={`End of ${label}`}
        rows={1}
        {...about}
        value={fold.end}
        onPaste={(event) => paste(event, beginning + middle, '')}
        onInput={({ currentTarget }) => change({ ...fold, end: currentTarget.value })}
      />
    </>
  )
}
