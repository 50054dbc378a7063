import { Copied } from '../parts/copied.tsx'
import { Dialog } from '../parts/dialog.tsx'

/** A key that was just made, shown this once. */
export function NewKeyDialog({ user, secret, onClose }: { user: string; secret: string; onClose(): void }) {
  return (
    <Dialog label={`The new key of ${user}`} onClose={onClose}>
      <div class="new-key">
        <p>Copy it now: it is stored as its hash, and nobody can show it again.</p>
        <div class="command">
          <pre tabIndex={0}>{secret}</pre>
          <Copied text={secret} label="Copy the key" />
        </div>
        <button type="button" class="main-button" onClick={onClose}>
          I have it
        </button>
      </div>
    </Dialog>
  )
}
