import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core'
import type { ComponentChildren, RefObject } from 'preact'
import { useLayoutEffect, useReducer, useState } from 'preact/hooks'
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

/** Only visible rows are in the document. */
export function VirtualList({ scroller, count, height: rems, onRange, active, scrollRequest, row }: Props) {
  const height = rems * rem.value
  const [, redraw] = useReducer((turn: number, _: undefined) => turn + 1, 0)
  const [virtual] = useState(
    () =>
      new Virtualizer<HTMLElement, HTMLElement>(
        optionsOf({ scroller, count, height }, () => redraw(undefined)),
      ),
  )
  virtual.setOptions(optionsOf({ scroller, count, height }, () => redraw(undefined)))
  useLayoutEffect(() => virtual._didMount(), [virtual])
  useLayoutEffect(() => virtual._willUpdate())
  useLayoutEffect(() => virtual.measure(), [virtual, height])
  const items = virtual.getVirtualItems()
  const first = items[0]?.index ?? 0
  const last = items.at(-1)?.index ?? -1
  // Called also for another list, though the same positions are visible.
  useLayoutEffect(() => onRange?.(first, last), [first, last, onRange])
  useLayoutEffect(() => {
    if (active === undefined || active < 0 || isSeen(scroller.current, active * height, height)) return
    virtual.scrollToIndex(active, { align: 'auto' })
  }, [active, scrollRequest])
  return (
    // The height of all rows depends on how many there are.
    <div
      class="virtual"
      role="presentation"
      ref={(element) => element?.style.setProperty('--rows', String(count))}
    >
      {items.map(({ index, start }) => row(index, start))}
    </div>
  )
}

/** Reads the element, whose scroll position is current; `Virtualizer` learns of it with the next frame. */
function isSeen(scroller: HTMLElement | null, top: number, height: number): boolean {
  if (scroller === null) return false
  const { scrollTop, clientHeight } = scroller
  return top >= scrollTop && top + height <= scrollTop + clientHeight
}

function optionsOf(
  { scroller, count, height }: Pick<Props, 'scroller' | 'count' | 'height'>,
  onChange: () => void,
) {
  return {
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    overscan: 12,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange,
  }
}
