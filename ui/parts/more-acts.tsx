import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

interface Props {
  /** What is set in there is seen. */
  isSet?: boolean
  children: ComponentChildren
}

/** What is seldom done: on a narrow screen one click away, so that a head does not take the place of its list. */
export function MoreActs({ isSet = false, children }: Props) {
  const [isOpen, setOpen] = useState(isSet)
  return (
    <>
      <button type="button" class="more-switch" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Less' : 'More'}
      </button>
      <div class={`more-acts ${isOpen ? 'is-open' : ''}`}>{children}</div>
    </>
  )
}
