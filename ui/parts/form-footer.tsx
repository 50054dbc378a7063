import type { ComponentChildren } from 'preact'
import { Problem } from './states.tsx'

interface Props {
  /** The error of the last attempt. */
  failure: Error | undefined
  onClose(): void
  canSubmit: boolean
  /** What is still to be filled in, if anything. */
  missing?: string | undefined
  /** Label of the submit button. */
  children: ComponentChildren
}

/** The buttons below the fields of a dialog, and the error. */
export function FormFooter({ failure, onClose, canSubmit, missing, children }: Props) {
  return (
    <>
      <Problem text={failure?.message} />
      {missing !== undefined && (
        <p class="muted" role="status">
          {missing}
        </p>
      )}
      <div class="dialog-buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="main-button" disabled={!canSubmit}>
          {children}
        </button>
      </div>
    </>
  )
}

/** As the `ref` of the first field of a form that fills a screen: it has the focus, unless the user has gone on. */
export function takeFocus(field: HTMLElement | null): void {
  if (document.activeElement === document.body) field?.focus()
}
