import type { RefObject } from 'preact'
import { useLayoutEffect, useMemo } from 'preact/hooks'
import { keptHere } from '../history.ts'
import { search } from '../routes.ts'

/** Where the user left a list. */
interface Left {
  /** Identifies the list. */
  of: string
  top: number
  active: number
  /** Rows that were shown, of a list that is loaded in pieces. */
  rows: number
}

interface KeptPlace {
  /** Undefined on a first visit, or if another list was shown. */
  left: Left | undefined
  keep(what: Omit<Left, 'of'>): void
}

/** Where the user left this list. `of` identifies the list. */
export function useKeptPlace(of: string): KeptPlace {
  return useMemo(() => {
    const { left, keep } = keptHere<Left>()
    return { left: left?.of === of ? left : undefined, keep: (what) => keep({ of, ...what }) }
  }, [of, search.value])
}

interface Standing {
  scroller: RefObject<HTMLElement | null>
  /** Set once there is something to scroll; a different value for a different list. */
  isThere: unknown
  active: number
  rows?: number
}

/** Scrolls to where the list was left. Returns what stores the position, to be called on scroll and before a row is opened. */
export function useKeptScroll(
  { left, keep }: KeptPlace,
  { scroller, isThere, active, rows = 0 }: Standing,
): (at?: number) => void {
  const keepNow = (at = active) => {
    if (isThere) keep({ top: scroller.current?.scrollTop ?? 0, active: at, rows })
  }
  // Without content there is nothing to scroll.
  useLayoutEffect(() => {
    if (isThere && left) scroller.current?.scrollTo({ top: left.top })
  }, [isThere])
  // A layout effect, because the row that a key selects may be opened before the next paint.
  useLayoutEffect(() => keepNow(), [isThere, keep, active, rows])
  return keepNow
}
