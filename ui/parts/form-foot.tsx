import type { ComponentChildren } from 'preact'

interface Props {
  /** What the server said to the last try. */
  failure: Error | undefined
  onClose(): void
  canSubmit: boolean
  /** What submitting does. */
  children: ComponentChildren
}

/** Below the fields of a dialog. */
export function FormFoot({ failure, onClose, canSubmit, children }: Props) {
  return (
    <>
      {failure && (
        <p class="problem" role="alert">
          {failure.message}
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
