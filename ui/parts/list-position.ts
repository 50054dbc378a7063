import type { RefObject } from 'preact'
import { useLayoutEffect, useMemo } from 'preact/hooks'
import { entryState } from '../history.ts'
import { search } from '../router.ts'

/** Where the user left a list. */
interface ListPosition {
  /** Identifies the list. */
  of: string
  top: number
  active: number
  /** Rows that were shown, of a list that is loaded in pieces. */
  rows: number
}

interface ListPositionStore {
  /** Undefined on a first visit, or if another list was shown. */
  left: ListPosition | undefined
  keep(what: Omit<ListPosition, 'of'>): void
}

/** Where the user left this list. `of` identifies the list. */
export function useListPosition(of: string): ListPositionStore {
  return useMemo(() => {
    const { left, keep } = entryState<ListPosition>()
    return { left: left?.of === of ? left : undefined, keep: (what) => keep({ of, ...what }) }
  }, [of, search.value])
}

interface ListState {
  scroller: RefObject<HTMLElement | null>
  /** Set once there is something to scroll; a different value for a different list. */
  isLoaded: unknown
  active: number
  rows?: number
}

/** Scrolls to where the list was left. Returns what stores the position, to be called on scroll and before a row is opened. */
export function useScrollRestoration(
  { left, keep }: ListPositionStore,
  { scroller, isLoaded, active, rows = 0 }: ListState,
): (at?: number) => void {
  const keepNow = (at = active) => {
    // The browser may tell of a scroll when the screen is gone.
    if (isLoaded && scroller.current) keep({ top: scroller.current.scrollTop, active: at, rows })
  }
  // Without content there is nothing to scroll.
  useLayoutEffect(() => {
    if (isLoaded && left) scroller.current?.scrollTo({ top: left.top })
  }, [isLoaded])
  // A layout effect, because the row that a key selects may be opened before the next paint.
  useLayoutEffect(() => keepNow(), [isLoaded, keep, active, rows])
  return keepNow
}
