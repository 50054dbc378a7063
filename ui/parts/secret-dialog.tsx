import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'

interface Props {
  label: string
  /** What is copied, such as `key`. */
  what: string
  secret: string
  onClose(): void
}

/** A secret that was just made, shown this once. */
export function SecretDialog({ label, what, secret, onClose }: Props) {
  return (
    <Dialog label={label} onClose={onClose}>
      <div class="new-key">
        <p>Copy it now. It cannot be shown again.</p>
        <div class="command">
          {/* Whoever presses Enter twice does not close it before it is copied. */}
          <pre tabIndex={0} autofocus>
            {secret}
          </pre>
          <CopyButton text={secret} label={`Copy ${what}`} />
        </div>
        <button type="button" class="main-button" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}
