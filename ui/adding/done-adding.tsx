import { Dialog } from '../parts/dialog.tsx'
import { paths } from '../routes.ts'
import { may } from '../server/rights.ts'

interface Props {
  /** Label of the dialog in which they were added. */
  label: string
  /** How many were added, and what was left out. */
  text: string
  /** The queue or dataset that they are in now. */
  to: { name: string; href: string }
  /** The project of a dataset, which a run can ask about. */
  project?: string
  onClose(): void
}

/** Shows what was added, with a link to it. */
export function AddedDialog({ label, text, to, project, onClose }: Props) {
  return (
    <Dialog label={label} onClose={onClose}>
      <div class="add-to">
        <p role="status">{text}</p>
        <div class="dialog-buttons">
          <a class="button" href={to.href} onClick={onClose}>
            Open {to.name}
          </a>
          {project !== undefined && may('infer', project) && (
            <a class="button" href={paths.newRun(project, { dataset: to.name })} onClick={onClose}>
              New run
            </a>
          )}
          <button type="button" class="main-button" autofocus onClick={onClose}>
            Done
          </button>
        </div>
      </div>
    </Dialog>
  )
}
