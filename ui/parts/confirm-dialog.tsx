import { Dialog } from './dialog.tsx'
import { Problem } from './states.tsx'
import { useWork } from './work.ts'

interface Props {
  title: string
  text: string
  /** Label of the confirming button, in one or two words. */
  yes: string
  onYes(): Promise<void> | void
  onClose(): void
}

/** Asks before something that cannot be undone. Shows the error if it fails. */
export function ConfirmDialog({ title, text, yes, onYes, onClose }: Props) {
  const { isWorking, failure, work } = useWork()
  const run = async () => {
    await onYes()
    onClose()
  }
  return (
    <Dialog label={title} onClose={onClose}>
      <div class="form">
        <p>{text}</p>
        <Problem text={failure?.message} />
        <div class="dialog-buttons">
          <button type="button" onClick={onClose} autofocus>
            Cancel
          </button>
          <button type="button" class="bad-button" disabled={isWorking} onClick={() => void work(run)}>
            {yes}
          </button>
        </div>
      </div>
    </Dialog>
  )
}
