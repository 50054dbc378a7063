import { CopyButton } from '../parts/copy-button.tsx'
import { Dialog } from '../parts/dialog.tsx'

/** A key that was just made, shown this once. */
export function NewKeyDialog({ user, secret, onClose }: { user: string; secret: string; onClose(): void }) {
  return (
    <Dialog label={`New key for ${user}`} onClose={onClose}>
      <div class="new-key">
        <p>Copy it now. Only its hash is stored, so it cannot be shown again.</p>
        <div class="command">
          <pre tabIndex={0}>{secret}</pre>
          <CopyButton text={secret} label="Copy key" />
        </div>
        <button type="button" class="main-button" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}
