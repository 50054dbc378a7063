import type { ComponentChildren, RefObject } from 'preact'
import { useLayoutEffect, useState } from 'preact/hooks'
import { rem } from './rem.ts'

interface Props {
  /** The element that scrolls. */
  scroller: RefObject<HTMLElement | null>
  count: number
  /** In rem, as in the style. */
  height: number
  /** Called with the rows that are on the screen. */
  onRange?: (first: number, last: number) => void
  /** The row that has to be visible. */
  active?: number
  /** A new number scrolls to the active row again, though it is the same one. */
  scrollRequest?: number
  row(index: number, top: number): ComponentChildren
}

/** Rows above and below the visible ones that are drawn, so that a short scroll shows no gap. */
const overscan = 12

/** Only visible rows are in the document. All have the same height. */
export function VirtualList({ scroller, count, height: rems, onRange, active, scrollRequest, row }: Props) {
  const height = rems * rem.value
  const [seen, setSeen] = useState({ first: 0, end: 0 })
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const look = () => {
      const { scrollTop, clientHeight } = element
      const first = Math.floor(scrollTop / height) - overscan
      const end = Math.ceil((scrollTop + clientHeight) / height) + overscan
      setSeen((before) => (before.first === first && before.end === end ? before : { first, end }))
    }
    look()
    const resizes = new ResizeObserver(look)
    resizes.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      resizes.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [scroller, height])
  const [first, end] = [Math.max(0, Math.min(seen.first, count - 1)), Math.min(count, seen.end)]
  // Called also for another list, though the same positions are visible.
  useLayoutEffect(() => onRange?.(first, end - 1), [first, end, onRange])
  useLayoutEffect(() => {
    if (active !== undefined && active >= 0) show(scroller.current, active * height, height)
  }, [active, scrollRequest])
  return (
    // The height of all rows depends on how many there are.
    <div
      class="virtual"
      role="presentation"
      ref={(element) => element?.style.setProperty('--rows', String(count))}
    >
      {Array.from({ length: Math.max(0, end - first) }, (_, at) => row(first + at, (first + at) * height))}
    </div>
  )
}

/** Scrolls no farther than the row needs. */
function show(scroller: HTMLElement | null, top: number, height: number): void {
  if (scroller === null) return
  const { scrollTop, clientHeight } = scroller
  const bottom = top + height - clientHeight
  if (top < scrollTop) scroller.scrollTo({ top })
  else if (bottom > scrollTop) scroller.scrollTo({ top: bottom })
}

/** Puts a row where the list says that it is. */
export const movedTo = (top: number) => (element: HTMLElement | null) =>
  element?.style.setProperty('transform', `translateY(${top}px)`)

/** Of a row that is not loaded. */
export const ComingRow = ({ index, top, classes }: { index: number; top: number; classes: string }) => (
  <div class={`${classes} is-coming`} role="row" aria-rowindex={index + 2} ref={movedTo(top)}>
    <div role="gridcell" />
  </div>
)
