import { signal } from '@preact/signals'
import { nextItem, releaseItem } from '../../server/reviews.ts'
import { type LeasedItem, leaseEnd, loadLeasedItem } from './leased-item.ts'
import type { Question } from './questions.ts'

export interface ReviewContext {
  project: string
  queue: string
  user: string
  questions: readonly Question[]
  /** Reviewers that each item needs; undefined means as many as the queue says. */
  annotators: number | undefined
}

/**
 * Gets items for this reviewer from the server. The next one is fetched while the current one is being answered, so that it is
 * ready in time. `unsaved` are finished items that the server may not know to be finished: it is told not to return them.
 */
export function createItemSource(
  { project, queue, user, questions, annotators }: ReviewContext,
  unsaved: ReadonlySet<string>,
) {
  const leasedToOthers = signal(0)
  let prefetched: Promise<LeasedItem | undefined> | undefined
  let isClosed = false

  const ask = (except: readonly string[]) =>
    nextItem(project, queue, { annotators, except: [...except, ...unsaved] })

  async function take(except: readonly string[]): Promise<LeasedItem | undefined> {
    const asked = performance.now()
    const { item, leased_items } = await ask(except)
    leasedToOthers.value = leased_items
    if (item === null) return undefined
    if (isClosed) {
      await releaseItem(project, queue, item.id)
      return undefined
    }
    return loadLeasedItem({ project, queue, user }, questions, item, leaseEnd(asked))
  }

  function giveBack(): void {
    void prefetched
      ?.then((ahead) => ahead && releaseItem(project, queue, ahead.item.id))
      .catch(() => undefined)
  }

  return {
    /** Items that other reviewers have leased. */
    othersOn: leasedToOthers,
    /** Fetches the next item. */
    prefetch({ item }: LeasedItem): void {
      prefetched ??= take([item.id]).catch(() => undefined)
    },
    /** Extends the lease of the next item, if the server still assigns it to this reviewer. */
    async renewPrefetched(held: LeasedItem): Promise<void> {
      const ahead = await prefetched
      if (ahead === undefined) return
      const asked = performance.now()
      const { item } = await ask([held.item.id])
      if (item?.id === ahead.item.id) ahead.until.value = leaseEnd(asked)
    },
    /** The item that was fetched ahead, or another one if its lease has run out. */
    async next(): Promise<LeasedItem | undefined> {
      const ahead = await prefetched
      prefetched = undefined
      const isLate = ahead !== undefined && ahead.until.value < performance.now()
      return ahead === undefined || isLate ? take([]) : ahead
    },
    /** Makes this item the next one again; the one fetched ahead is released. */
    async putBack(held: LeasedItem): Promise<void> {
      const ahead = await prefetched
      if (ahead !== undefined) void releaseItem(project, queue, ahead.item.id).catch(() => undefined)
      prefetched = Promise.resolve(held)
    },
    giveBack,
    close(): void {
      isClosed = true
      giveBack()
    },
  }
}
