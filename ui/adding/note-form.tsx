import { useRef } from 'preact/hooks'
import { useKeptForm } from '../parts/kept-form.ts'
import { useShortcuts } from '../parts/shortcuts.ts'
import { ownSubmit } from '../parts/work.ts'

interface Props {
  label: string
  /** What the note is about. */
  about: string
  /** Whether it was kept. */
  onKeep(note: string): Promise<boolean>
}

export function NoteForm({ label, about, onKeep }: Props) {
  const form = useKeptForm(`note ${about}`, (kept: { note?: string }) => ({ note: kept.note ?? '' }))
  const { note } = form.value
  const isSending = useRef(false)
  const keep = async () => {
    // Pressed twice, it is one note.
    if (note.trim() === '' || isSending.current) return
    isSending.current = true
    if (await onKeep(note.trim())) {
      form.change({ note: '' })
      form.drop()
    }
    isSending.current = false
  }
  useShortcuts(
    'Feedback',
    [],
    [{ keys: ['Ctrl+Enter'], does: 'Add note', whileTyping: true, run: () => void keep() }],
  )
  return (
    <div class="feedback-add">
      <form onSubmit={ownSubmit(keep)}>
        <label class="hidden-text" for="note">
          {label}
        </label>
        <textarea
          id="note"
          rows={2}
          maxLength={1024}
          placeholder={label}
          value={note}
          onInput={({ currentTarget }) => form.change({ note: currentTarget.value })}
        />
        <button type="submit" disabled={note.trim() === ''}>
          Add note
        </button>
      </form>
    </div>
  )
}
