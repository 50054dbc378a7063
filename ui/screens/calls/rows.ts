import { batch, signal } from '@preact/signals'
import { type CallRow, type CallsView, countCalls, readPage, readPayloads } from '../../server/calls.ts'
import { nodeAt, sourceOf } from '../../value/json-index.ts'
import { askedIn, lineOf, previewOf, saidIn } from '../../value/messages.ts'

export const pageSize = 100

/** Of larger calls no preview is read: a page of them would be many megabytes. */
const mostForPreview = 64_000

export interface Preview {
  asked: string
  said: string
}

/** The calls of one view: pages are read when they are scrolled to, previews when they are seen. */
export function createRows(view: CallsView) {
  const rows = signal<ReadonlyMap<number, CallRow>>(new Map())
  const count = signal<number | undefined>(undefined)
  const error = signal<Error | undefined>(undefined)
  const previews = signal<ReadonlyMap<string, Preview>>(new Map())
  const fresh = signal(0)
  const closing = new AbortController()
  const { signal: closed } = closing
  const asked = new Set<number>()
  const previewed = new Set<string>()
  let seen = { first: 0, last: -1 }

  const guarded = async (work: () => Promise<void>) => {
    try {
      await work()
    } catch (given) {
      if (!closed.aborted) error.value = given as Error
    }
  }

  const readCount = () =>
    guarded(async () => {
      count.value = await countCalls(view, closed)
    })

  const readPageOf = (page: number) =>
    guarded(async () => {
      const found = await readPage(view, { offset: page * pageSize, limit: pageSize }, closed)
      const next = new Map(rows.value)
      for (const [index, row] of found.entries()) next.set(page * pageSize + index, row)
      rows.value = next
      showPreviews()
    })

  const readPreviews = (ids: string[]) =>
    guarded(async () => {
      for (const id of ids) previewed.add(id)
      const payloads = await readPayloads(view.project, ids, closed)
      const next = new Map(previews.value)
      for (const [id, call] of payloads) {
        const [inputs, output] = [nodeAt(call, 'inputs'), nodeAt(call, 'output')]
        const question = askedIn(inputs)
        const answer = saidIn(output)
        next.set(id, {
          asked: question ? previewOf(question) : inputs ? lineOf(sourceOf(inputs).slice(0, 400)) : '',
          said: answer ? previewOf(answer) : output ? lineOf(sourceOf(output).slice(0, 400)) : '',
        })
      }
      previews.value = next
    })

  function showPreviews(): void {
    const ids: string[] = []
    for (let index = seen.first; index <= seen.last; index++) {
      const row = rows.value.get(index)
      if (row === undefined || previewed.has(row.id)) continue
      if ((row.storage_size_bytes ?? 0) <= mostForPreview) ids.push(row.id)
    }
    if (ids.length > 0) void readPreviews(ids)
  }

  void readCount()

  return {
    rows,
    count,
    error,
    previews,
    /** Calls that came since the list was read. */
    fresh,
    /** Reads what these rows need and is not there yet. */
    see(first: number, last: number): void {
      seen = { first, last }
      for (let page = Math.floor(first / pageSize); page <= Math.floor(last / pageSize); page++) {
        if (asked.has(page)) continue
        asked.add(page)
        void readPageOf(page)
      }
      showPreviews()
    },
    /** Looks for newer calls. Where nothing has been scrolled they appear; else they are counted and wait. */
    look(isAtTop: boolean): Promise<void> {
      return guarded(async () => {
        const now = await countCalls(view, closed)
        if (!isAtTop) {
          fresh.value = Math.max(0, now - (count.value ?? now))
          return
        }
        const isChanged = now !== count.value || error.value !== undefined
        const isMoving = rows.value.values().some(({ ended_at }) => ended_at === null)
        if (!isChanged && !isMoving) return
        const found = await readPage(view, { offset: 0, limit: pageSize }, closed)
        batch(() => {
          asked.clear()
          asked.add(0)
          rows.value = new Map(found.entries())
          count.value = now
          fresh.value = 0
          error.value = undefined
        })
        showPreviews()
      })
    },
    close: () => closing.abort(),
  }
}

export type Rows = ReturnType<typeof createRows>
