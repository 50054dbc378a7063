import type { RefObject } from 'preact'
import { useLayoutEffect, useMemo } from 'preact/hooks'
import { keptHere } from '../history.ts'
import { search } from '../routes.ts'

/** Where somebody was in a list. */
interface Left {
  /** Which list it was. */
  of: string
  top: number
  active: number
  /** Of a list that is shown piece by piece, how many rows there were. */
  rows: number
}

interface KeptPlace {
  /** Undefined where nobody has been, or at another list. */
  left: Left | undefined
  keep(what: Omit<Left, 'of'>): void
}

/** What is known of who comes back to the list. `of` is all that makes it another list. */
export function useKeptPlace(of: string): KeptPlace {
  return useMemo(() => {
    const { left, keep } = keptHere<Left>()
    return { left: left?.of === of ? left : undefined, keep: (what) => keep({ of, ...what }) }
  }, [of, search.value])
}

interface Standing {
  scroller: RefObject<HTMLElement | null>
  /** There is something to scroll; another one, where there is another list. */
  isThere: unknown
  active: number
  rows?: number
}

/** Scrolls to where it was left. Returns what keeps where it is: to be called as it scrolls, and by who leaves by a row. */
export function useKeptScroll(
  { left, keep }: KeptPlace,
  { scroller, isThere, active, rows = 0 }: Standing,
): (at?: number) => void {
  const keepNow = (at = active) => {
    if (isThere) keep({ top: scroller.current?.scrollTop ?? 0, active: at, rows })
  }
  // Before there is something there is no room to scroll.
  useLayoutEffect(() => {
    if (isThere && left) scroller.current?.scrollTo({ top: left.top })
  }, [isThere])
  // Not after the next paint: who walks to a row by keys may have opened it by then.
  useLayoutEffect(() => keepNow(), [isThere, keep, active, rows])
  return keepNow
}
