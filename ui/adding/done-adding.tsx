import { Dialog } from '../parts/dialog.tsx'

interface Props {
  /** Of the dialog in which it was added. */
  label: string
  /** What became of it. */
  text: string
  /** Where it is now. */
  to: { name: string; href: string }
  onClose(): void
}

/** Says what was added, and leads to it. */
export function DoneAdding({ label, text, to, onClose }: Props) {
  return (
    <Dialog label={label} onClose={onClose}>
      <div class="add-to">
        <p role="status">{text}</p>
        <div class="dialog-buttons">
          <a class="button" href={to.href} onClick={onClose}>
            Open {to.name}
          </a>
          <button type="button" class="main-button" autofocus onClick={onClose}>
            Done
          </button>
        </div>
      </div>
    </Dialog>
  )
}
