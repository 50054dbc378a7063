import { batch, signal } from '@preact/signals'
import { contents } from '../../export/contents.ts'
import { type Compared, type ResultRow, type RowOrder, readRank, readRows } from '../../server/evaluations.ts'
import { guardedReads } from '../../server/guarded-reads.ts'

export const pageSize = 50

/** The rows of a comparison in one order: pages are read when they are scrolled to. */
export function createRows(view: Compared, order: RowOrder | undefined) {
  const rows = signal<ReadonlyMap<number, ResultRow>>(new Map())
  const count = signal<number | undefined>(undefined)
  const warnings = signal<readonly string[]>([])
  /** Positions of rows that were opened by a link; null for rows that are not in the list. */
  const places = signal<ReadonlyMap<string, number | null>>(new Map())
  const { error, closing, closed, guarded } = guardedReads()
  const asked = new Set<number>()
  const sought = new Set<string>()

  const readPage = (page: number) =>
    guarded(async () => {
      const found = await readRows(view, order, { offset: page * pageSize, limit: pageSize }, closed)
      const next = new Map(rows.value)
      const known = new Map(places.value)
      for (const [index, row] of found.rows.entries()) {
        next.set(page * pageSize + index, row)
        known.set(row.digest, page * pageSize + index)
      }
      batch(() => {
        rows.value = next
        places.value = known
        error.value = undefined
        if (found.rows.length > 0 || page === 0) count.value = contents?.rows ?? found.total
        const more = found.warnings.filter((text) => !warnings.value.includes(text))
        if (more.length > 0) warnings.value = [...warnings.value, ...more]
      })
    })

  function see(first: number, last: number): void {
    if (last < first) return
    for (let page = Math.floor(first / pageSize); page <= Math.floor(last / pageSize); page++) {
      if (asked.has(page)) continue
      asked.add(page)
      void readPage(page)
    }
  }

  return {
    rows,
    count,
    warnings,
    error,
    places,
    see,
    /** Forgets failures, so that the rows are read again when they are seen. */
    reload(): void {
      asked.clear()
      sought.clear()
      see(0, 0)
    },
    /** Asks the server for the position of a row, and reads it. */
    seek(digest: string): void {
      if (sought.has(digest) || places.value.has(digest)) return
      sought.add(digest)
      // A file contains the rows, but not the answers about positions.
      if (contents?.rows !== undefined) {
        see(0, contents.rows - 1)
        return
      }
      void guarded(async () => {
        const { rank } = await readRank(view, order, digest, closed)
        places.value = new Map(places.value).set(digest, rank)
        if (rank !== null) see(rank, rank)
      })
    },
    close: () => closing.abort(),
  }
}

export type Rows = ReturnType<typeof createRows>
