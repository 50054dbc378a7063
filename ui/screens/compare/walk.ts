import { useEffect, useState } from 'preact/hooks'
import { setSearch } from '../../routes.ts'
import type { Rows } from './rows.ts'

/** Which row is looked at. An open row stands in the address; where it is in the order, the list says or is asked. */
export function useWalk(list: Rows | undefined, open: string | undefined) {
  const [chosen, setChosen] = useState(-1)
  /** Where somebody went before the row was there. */
  const [pending, setPending] = useState<number>()
  const count = list?.count.value ?? 0
  const place = open === undefined ? undefined : (list?.places.value.get(open) ?? undefined)
  const active = pending ?? place ?? chosen
  useEffect(() => {
    setChosen(-1)
    setPending(undefined)
  }, [list])
  useEffect(() => {
    if (open !== undefined) list?.seek(open)
  }, [list, open])
  useEffect(() => {
    if (place !== undefined) setChosen(place)
  }, [place])
  const reached = pending === undefined ? undefined : list?.rows.value.get(pending)?.digest
  useEffect(() => {
    if (reached === undefined) return
    setPending(undefined)
    setSearch({ row: reached, trial: undefined }, { replaces: open !== undefined })
  }, [reached])
  function openAt(index: number): void {
    if (index < 0 || index >= count) return
    list?.see(index, index)
    setPending(index)
  }
  return {
    active,
    openAt,
    move(by: number): void {
      if (count === 0) return
      const next = Math.min(count - 1, Math.max(0, active + by))
      if (open === undefined) setChosen(next)
      else openAt(next)
    },
  }
}
