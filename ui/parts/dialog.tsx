import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface Props {
  label: string
  onClose(): void
  children: ComponentChildren
  /** Without a title bar. */
  bare?: boolean
}

/** In front of everything else. The browser keeps the focus inside, and Esc closes it. */
export function Dialog({ label, onClose, children, bare = false }: Props) {
  const ref = useRef<HTMLDialogElement>(null)
  const isGone = useRef(false)
  // Not after the next paint: who opens it by a key goes on typing.
  useLayoutEffect(() => {
    const dialog = ref.current
    dialog?.showModal()
    return () => {
      // However it is left, the browser gives the focus back to what opened it. Nobody waits to hear that it has closed.
      isGone.current = true
      dialog?.close()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      aria-label={label}
      onClose={() => isGone.current || onClose()}
      onClick={(event) => {
        if (event.target === ref.current) onClose()
      }}
    >
      <div class="dialog">
        {!bare && (
          <header>
            <h2>{label}</h2>
            <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
              <Icon name="close" />
            </button>
          </header>
        )}
        {children}
      </div>
    </dialog>
  )
}
