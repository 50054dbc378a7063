import { batch, signal } from '@preact/signals'
import type { LightCall } from '../../../src/operations/views/contract.ts'
import { contents } from '../../export/contents.ts'
import {
  type CallsView,
  countCalls,
  type Examined,
  newestFirst,
  newestOf,
  readCalls,
  readExaminedPage,
  readPage,
  readTraceSums,
  type TraceSum,
} from '../../server/calls.ts'
import type { LiveEvent } from '../../server/events.ts'
import { guardedReads } from '../../server/guarded-reads.ts'
import { UnreachableError } from '../../server/request.ts'

export const pageSize = 100

/** Shortest pause between reads of what has changed. */
const restMs = 500

/** Beyond this many changed calls their ids are not kept, and everything shown is read again. */
const mostPending = 1_000

interface News {
  ids: Set<string>
  /** It is not known which calls changed, so everything that is shown is read again. */
  isUnknown: boolean
}

const noNews = (): News => ({ ids: new Set(), isUnknown: false })

const bothNews = (first: News, second: News): News => ({
  ids: new Set([...first.ids, ...second.ids]),
  isUnknown: first.isUnknown || second.isUnknown,
})

/**
 * The calls of one view as of the time when it was read; pages are read when they are scrolled to. Calls that are shown
 * are updated in place. Newer calls are counted and wait, unless `isAtRest` says that they may be added.
 */
export function createRows(view: CallsView, isAtRest: () => boolean) {
  const rows = signal<ReadonlyMap<number, LightCall>>(new Map())
  const count = signal<number | undefined>(undefined)
  const examined = signal<Examined | null>(null)
  const fresh = signal(0)
  const gone = signal<ReadonlySet<string>>(new Set())
  const traceSums = signal<ReadonlyMap<string, TraceSum>>(new Map())
  const isPaused = signal(false)
  const { error, closing, closed, guarded, following } = guardedReads()
  const asked = new Set<number>()
  let seen = { first: 0, last: -1 }
  let newest: string | undefined
  let freshIds = new Set<string>()
  let news = noNews()
  const isByTime = view.sort.field === newestFirst.field && view.sort.direction === 'desc'

  /** Roots are often functions of a program, and what their traces used stands at the calls inside. */
  async function sumUp(found: readonly LightCall[]): Promise<void> {
    const ids = found.flatMap(({ id, parent_id, input_tokens, output_tokens }) =>
      parent_id === null && input_tokens === null && output_tokens === null ? [id] : [],
    )
    if (contents !== undefined || ids.length === 0) return
    // The list is of use without them.
    const sums = await readTraceSums(view.project, ids, closed).catch(() => new Map<string, TraceSum>())
    traceSums.value = new Map([...traceSums.value, ...sums])
  }

  /** Reads the view as it is now. */
  async function begin(): Promise<void> {
    const [found, all] = await Promise.all([
      readExaminedPage(view, {}, { offset: 0, limit: pageSize }, closed),
      countCalls(view, {}, closed),
    ])
    examined.value = found.examined
    show(found.calls, all)
  }

  function show(found: readonly LightCall[], all: number): void {
    newest = newestOf(view, found)
    void sumUp(found)
    freshIds = new Set()
    batch(() => {
      asked.clear()
      asked.add(0)
      rows.value = new Map(found.entries())
      count.value = contents?.rows ?? Math.max(all, found.length)
      fresh.value = 0
      gone.value = new Set()
      error.value = undefined
    })
    see()
  }

  async function readPageOf(page: number): Promise<void> {
    const found = await readPage(
      view,
      { until: newest },
      { offset: page * pageSize, limit: pageSize },
      closed,
    )
    const next = new Map(rows.value)
    for (const [index, row] of found.entries()) next.set(page * pageSize + index, row)
    rows.value = next
    void sumUp(found)
  }

  function see(): void {
    const { first, last } = seen
    for (let page = Math.floor(first / pageSize); page <= Math.floor(last / pageSize); page++) {
      if (asked.has(page) || count.value === undefined || page * pageSize >= count.value) continue
      asked.add(page)
      void guarded(() => readPageOf(page))
    }
  }

  /** Adds the newest calls, when the list is at its top. */
  async function bringIn({ isUnknown }: News): Promise<void> {
    const found = await readPage(view, {}, { offset: 0, limit: pageSize }, closed)
    const first = rows.value.get(0)?.id
    const added = first === undefined ? found.length : found.findIndex(({ id }) => id === first)
    // If only newer calls were added, the count grows by as many; otherwise it has to be counted again.
    const isPlain =
      !isUnknown &&
      added >= 0 &&
      found.slice(added).every(({ id }, index) => rows.value.get(index)?.id === id)
    const all =
      isPlain && count.value !== undefined ? count.value + added : await countCalls(view, {}, closed)
    if (!isAtRest()) return
    show(found, all)
  }

  /** Updates the loaded rows in place and counts newer calls. */
  async function keepInPlace({ ids, isUnknown }: News): Promise<void> {
    const loaded = new Map([...rows.value].map(([index, { id }]) => [id, index]))
    const isSeen = (index: number) => index >= seen.first && index <= seen.last
    const changed = [...loaded].flatMap(([id, index]) =>
      ids.has(id) || (isUnknown && isSeen(index)) ? [id] : [],
    )
    if (changed.length > 0) {
      const found = await readCalls(view, changed, closed)
      void sumUp(found)
      const next = new Map(rows.value)
      for (const row of found) next.set(loaded.get(row.id) as number, row)
      const there = new Set(found.map(({ id }) => id))
      const missing = changed.filter((id) => !there.has(id))
      batch(() => {
        rows.value = next
        if (missing.length > 0) gone.value = new Set([...gone.value, ...missing])
      })
    }
    const others = [...ids].filter((id) => !loaded.has(id) && !freshIds.has(id))
    if (isUnknown) {
      const all = await countCalls(view, { behind: newest }, closed)
      fresh.value = isByTime ? all : Math.max(0, all - (count.value ?? all))
    } else if (others.length > 0) {
      const found = await readPage(
        view,
        { behind: newest, ids: others },
        { offset: 0, limit: mostPending },
        closed,
      )
      for (const { id } of found) freshIds.add(id)
      fresh.value += found.length
    }
  }

  async function readNews(): Promise<void> {
    const taken = news
    news = noNews()
    await (isAtRest() ? bringIn(taken) : keepInPlace(taken)).catch((reason: unknown) => {
      // The event stream does not tell of them again.
      if (reason instanceof UnreachableError) news = bothNews(taken, news)
      throw reason
    })
  }

  const digest = following(() => !isPaused.value && (news.isUnknown || news.ids.size > 0), readNews, restMs)

  void guarded(begin)

  return {
    rows,
    /** What the traces of roots used whose own calls have no tokens, by the ids of the roots. */
    traceSums,
    count,
    /** The newest calls that were looked at, if not all. */
    examined,
    error,
    /** Calls that came since the list was read. */
    fresh,
    /** Calls that were deleted while they were shown. */
    gone,
    isPaused,
    /** Reads the rows in this range that are not loaded yet. */
    see(first: number, last: number): void {
      seen = { first, last }
      see()
    },
    hear(heard: LiveEvent): void {
      if (heard !== 'resync') {
        if (heard.project !== view.project || (heard.kind !== 'call' && heard.kind !== 'feedback')) return
        for (const id of heard.ids ?? []) news.ids.add(id)
      }
      if (heard === 'resync' || heard.ids === null || news.ids.size > mostPending) {
        news = { ids: new Set(), isUnknown: true }
      }
      void digest()
    },
    pause(wanted: boolean): void {
      isPaused.value = wanted
      if (!wanted) void digest()
    },
    /** The ids of the first calls of the view, as it was when it was read. */
    async readAll(limit: number): Promise<string[] | undefined> {
      let ids: string[] | undefined
      await guarded(async () => {
        const found = await readPage(
          { ...view, columns: [] },
          { until: newest },
          { offset: 0, limit },
          closed,
        )
        ids = found.map(({ id }) => id)
      })
      return ids
    },
    reload: () => guarded(begin),
    close: () => closing.abort(),
  }
}

export type Rows = ReturnType<typeof createRows>
