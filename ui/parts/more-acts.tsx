import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

/** What is seldom done: on a narrow screen one click away, so that a head does not take the place of its list. */
export function MoreActs({ children }: { children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="more-switch" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Less' : 'More'}
      </button>
      <div class={`more-acts ${isOpen ? 'is-open' : ''}`}>{children}</div>
    </>
  )
}
