import { signal } from '@preact/signals'

export const pageSize = 100

/** Rows of a long list by their numbers: each page is read when it is scrolled to. */
export function createPagedList<Row>(
  read: (page: { offset: number; limit: number }, signal: AbortSignal) => Promise<readonly Row[]>,
) {
  const rows = signal<ReadonlyMap<number, Row>>(new Map())
  const error = signal<Error | undefined>(undefined)
  const closing = new AbortController()
  const asked = new Set<number>()

  async function readPage(page: number): Promise<void> {
    try {
      const found = await read({ offset: page * pageSize, limit: pageSize }, closing.signal)
      const next = new Map(rows.value)
      for (const [index, row] of found.entries()) next.set(page * pageSize + index, row)
      rows.value = next
      error.value = undefined
    } catch (given) {
      asked.delete(page)
      if (!closing.signal.aborted) error.value = given as Error
    }
  }

  return {
    rows,
    error,
    /** Reads the rows in this range that are not loaded yet. */
    see(first: number, last: number): void {
      for (let page = Math.floor(first / pageSize); page <= Math.floor(last / pageSize); page++) {
        if (asked.has(page)) continue
        asked.add(page)
        void readPage(page)
      }
    },
    close: () => closing.abort(),
  }
}
