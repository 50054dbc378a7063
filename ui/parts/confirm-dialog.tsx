import { useState } from 'preact/hooks'
import { Dialog } from './dialog.tsx'

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
  const [failure, setFailure] = useState<Error>()
  const [isWorking, setWorking] = useState(false)
  const run = async () => {
    setWorking(true)
    try {
      await onYes()
      onClose()
    } catch (given) {
      setFailure(given as Error)
      setWorking(false)
    }
  }
  return (
    <Dialog label={title} onClose={onClose}>
      <div class="form">
        <p>{text}</p>
        {failure && (
          <p class="problem" role="alert">
            {failure.message}
          </p>
        )}
        <div class="dialog-buttons">
          <button type="button" onClick={onClose} autofocus>
            Cancel
          </button>
          <button type="button" class="bad-button" disabled={isWorking} onClick={() => void run()}>
            {yes}
          </button>
        </div>
      </div>
    </Dialog>
  )
}
