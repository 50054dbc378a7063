import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { setSearch } from '../../routes.ts'
import type { Rows } from './rows.ts'

/**
 * Which row is looked at: of who comes back, the one that was `left`. An open row stands in the address; where it is in the
 * order, the list says or is asked.
 */
export function useWalk(list: Rows | undefined, open: string | undefined, left = -1) {
  const [chosen, setChosen] = useState(-1)
  /** Where somebody went before the row was there. */
  const [pending, setPending] = useState<number>()
  const [sought, setSought] = useState(0)
  const count = list?.count.value ?? 0
  const place = open === undefined ? undefined : (list?.places.value.get(open) ?? undefined)
  const active = pending ?? place ?? chosen
  // Not after the next paint, when a key may have gone further.
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
    // Whoever holds the key down is further by now.
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
    sought,
    openAt,
    /** Also a row that is not there yet does not open any more. */
    close(): void {
      setPending(undefined)
      setSearch({ row: undefined, trial: undefined })
    },
    move(by: number): void {
      if (count === 0) return
      const next = Math.min(count - 1, Math.max(0, active + by))
      setSought(sought + 1)
      if (open === undefined) setChosen(next)
      else openAt(next)
    },
  }
}
