import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'

interface Props {
  label: string
  /** What will be. */
  text: string
  act: string
  run(): Promise<unknown>
  onClose(isDone: boolean): void
}

/** Before something that cannot be taken back. */
export function Asked({ label, text, act, run, onClose }: Props) {
  const [failure, setFailure] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const go = () => {
    setBusy(true)
    run().then(
      () => onClose(true),
      (error: Error) => {
        setFailure(error)
        setBusy(false)
      },
    )
  }
  return (
    <Dialog label={label} onClose={() => onClose(false)}>
      <div class="new-key">
        <p>{text}</p>
        {failure && (
          <p class="problem" role="alert">
            {failure.message}
          </p>
        )}
        <div class="form-acts">
          <button type="button" class="main-button" disabled={isBusy} onClick={go}>
            {act}
          </button>
          <button type="button" onClick={() => onClose(false)}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  )
}
