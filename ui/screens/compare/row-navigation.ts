import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { setSearch } from '../../router.ts'
import type { Rows } from './rows.ts'

/**
 * Which row is active; `left` is the one where a returning user left the list. The digest of an open row is in the address,
 * and its position comes from the loaded rows or from the server.
 */
export function useRowNavigation(list: Rows | undefined, open: string | undefined, left = -1) {
  const [chosen, setChosen] = useState(-1)
  /** The position that was gone to before its row was loaded. */
  const [pending, setPending] = useState<number>()
  const [scrollRequest, setScrollRequest] = useState(0)
  const count = list?.count.value ?? 0
  const place = open === undefined ? undefined : (list?.places.value.get(open) ?? undefined)
  const active = pending ?? place ?? chosen
  // A layout effect, because a key may have moved further before the next paint.
  useLayoutEffect(() => {
    setChosen(left)
    setPending(undefined)
  }, [list])
  useEffect(() => {
    if (open !== undefined) list?.seek(open)
  }, [list, open])
  useLayoutEffect(() => {
    if (place !== undefined) setChosen(place)
  }, [place])
  const reached = pending === undefined ? undefined : list?.rows.value.get(pending)?.digest
  useLayoutEffect(() => {
    if (reached === undefined) return
    // While a key is held down, the position is further on by now.
    setPending((now) => (now === pending ? undefined : now))
    setSearch({ row: reached, trial: undefined }, { replaces: open !== undefined })
  }, [reached])
  function openAt(index: number): void {
    if (index < 0 || index >= count) return
    list?.see(index, index)
    setPending(index)
  }
  return {
    active,
    scrollRequest,
    openAt,
    /** Also cancels the opening of a row that is not loaded yet. */
    close(): void {
      setPending(undefined)
      setSearch({ row: undefined, trial: undefined })
    },
    move(by: number): void {
      if (count === 0) return
      const next = Math.min(count - 1, Math.max(0, active + by))
      setScrollRequest(scrollRequest + 1)
      if (open === undefined) setChosen(next)
      else openAt(next)
    },
  }
}
