import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface Props {
  label: string
  onClose(): void
  children: ComponentChildren
  /** Without a title bar. */
  bare?: boolean
}

/**
 * A modal dialog. The browser keeps the focus inside, and Esc and a click beside it close it; once a longer text is
 * entered, Esc does so only when pressed again.
 */
export function Dialog({ label, onClose, children, bare = false }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  const isGone = useRef(false)
  const isPressedBeside = useRef(false)
  const [loss, setLoss] = useState<'possible' | 'told'>()
  // A layout effect, because a user who opens it by a key types on before the next paint.
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    return () => {
      // However it is closed, the browser returns the focus to what opened it. Nothing waits for the close event.
      isGone.current = true
      dialog?.close()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      aria-label={label}
      // The close event is late: what opens the dialog again before it comes would be lost.
      onCancel={(event) => {
        // A chooser of files inside is cancelled, too.
        if (event.target !== ref.current) return
        event.preventDefault()
        if (loss === 'possible') setLoss('told')
        else onClose()
      }}
      onInput={({ target }) => {
        if (target instanceof HTMLTextAreaElement) setLoss('possible')
      }}
      // Marking a text may end beside the dialog, which is no click there.
      onPointerDown={(event) => {
        isPressedBeside.current = event.target === ref.current
      }}
      onClose={() => isGone.current || onClose()}
      onClick={(event) => {
        if (event.target === ref.current && isPressedBeside.current && loss === undefined) onClose()
      }}
    >
      <div class="dialog">
        {!bare && (
          <header>
            <h2 dir="auto">{label}</h2>
            <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
              <Icon name="close" />
            </button>
          </header>
        )}
        {children}
        {loss === 'told' && (
          <p class="notice" role="alert">
            What you entered is not saved. Esc again discards it.
          </p>
        )}
      </div>
    </dialog>
  )
}
