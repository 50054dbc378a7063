import { useState } from 'preact/hooks'
import { useShortcuts } from '../parts/shortcuts.ts'

interface Props {
  label: string
  /** Whether it was kept. */
  onKeep(note: string): Promise<boolean>
}

export function NoteForm({ label, onKeep }: Props) {
  const [note, setNote] = useState('')
  const keep = async () => {
    if (note.trim() !== '' && (await onKeep(note.trim()))) setNote('')
  }
  useShortcuts(
    'Feedback',
    [],
    [{ keys: ['Ctrl+Enter'], does: 'Add note', whileTyping: true, run: () => void keep() }],
  )
  return (
    <div class="feedback-add">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void keep()
        }}
      >
        <label class="hidden-text" for="note">
          {label}
        </label>
        <textarea
          id="note"
          rows={2}
          maxLength={1024}
          placeholder={label}
          value={note}
          onInput={({ currentTarget }) => setNote(currentTarget.value)}
        />
        <button type="submit" disabled={note.trim() === ''}>
          Add note
        </button>
      </form>
    </div>
  )
}
