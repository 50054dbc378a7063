import { batch, signal } from '@preact/signals'
import type { LiveEvent } from '../../server/events.ts'
import { guardedReads } from '../../server/guarded-reads.ts'
import {
  countThreadsAfter,
  latestFirst,
  readThreads,
  readThreadsNamed,
  type Thread,
  type ThreadsView,
} from '../../server/threads.ts'

const pageSize = 50

const maxFresh = 1_000

/**
 * The conversations of a view; each call of `more` reads further ones. While `isAtRest` says so, the latest are shown as
 * they change; otherwise those on the screen are updated in place, and the others are counted.
 */
export function createThreadRows(view: ThreadsView, isAtRest: () => boolean) {
  const threads = signal<readonly Thread[] | undefined>(undefined)
  const isAll = signal(false)
  const fresh = signal(0)
  const isPaused = signal(false)
  const { error, closing, closed, fail, following } = guardedReads()
  let offset = 0
  let isReading = false
  let isStale = false
  let seen = { first: 0, last: 0 }
  /** The latest that was shown when the list was read. */
  let latest: string | undefined

  async function begin(): Promise<void> {
    const page = await readThreads(view, { offset: 0, limit: pageSize }, closed)
    offset = page.length
    latest = page.map(({ last_updated }) => last_updated).toSorted((a, b) => Date.parse(b) - Date.parse(a))[0]
    batch(() => {
      threads.value = page
      isAll.value = page.length < pageSize
      fresh.value = 0
      error.value = undefined
    })
  }

  async function more(): Promise<void> {
    if (isReading || isAll.value || threads.value === undefined) return
    isReading = true
    try {
      const page = await readThreads(view, { offset, limit: pageSize }, closed)
      offset += page.length
      batch(() => {
        // A conversation that went on meanwhile shifts the others, so some are read twice.
        const known = new Set(threads.value?.map(({ thread_id }) => thread_id))
        threads.value = [...(threads.value ?? []), ...page.filter(({ thread_id }) => !known.has(thread_id))]
        isAll.value = page.length < pageSize
      })
    } catch (reason) {
      fail(reason)
    }
    isReading = false
  }

  async function updateInPlace(): Promise<void> {
    const shown = (threads.value ?? []).slice(seen.first, seen.last + 1).map(({ thread_id }) => thread_id)
    const found = shown.length === 0 ? [] : await readThreadsNamed(view.project, shown, closed)
    const byId = new Map(found.map((thread) => [thread.thread_id, thread]))
    threads.value = threads.value?.map((thread) => byId.get(thread.thread_id) ?? thread)
    if (latest === undefined || view.sort.field !== latestFirst.field) return
    fresh.value = await countThreadsAfter(view, latest, maxFresh, closed)
  }

  const digest = following(
    () => isStale && !isPaused.value,
    () => {
      isStale = false
      return isAtRest() ? begin() : updateInPlace()
    },
  )

  const reload = () => begin().catch(fail)
  void reload()

  return {
    threads,
    isAll,
    error,
    /** Conversations that went on since the list was read. */
    fresh,
    isPaused,
    more,
    reload,
    see(first: number, last: number): void {
      seen = { first, last }
      if (last >= (threads.value?.length ?? 0) - 1) void more()
    },
    hear(heard: LiveEvent): void {
      if (
        heard !== 'resync' &&
        (heard.project !== view.project || !(heard.kind === 'call' || heard.kind === 'feedback'))
      )
        return
      isStale = true
      void digest()
    },
    pause(wanted: boolean): void {
      isPaused.value = wanted
      if (!wanted) void digest()
    },
    close: () => closing.abort(),
  }
}
