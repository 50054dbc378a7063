import { signal } from '@preact/signals'
import { nextItem, releaseItem } from '../../server/reviews.ts'
import { type Held, holdOf, untilFrom } from './held.ts'
import type { Question } from './questions.ts'

export interface Reviewed {
  project: string
  queue: string
  user: string
  questions: readonly Question[]
  /** How many reviewers an item needs. */
  annotators: number
}

/**
 * The items that the server hands out to this reviewer. The next one is fetched while this one is answered, so that it is there when
 * this one is done. `unsaved` are items whose end the server may not know yet: it is told not to hand them out again.
 */
export function createHandOut(
  { project, queue, user, questions, annotators }: Reviewed,
  unsaved: ReadonlySet<string>,
) {
  const othersOn = signal(0)
  let following: Promise<Held | undefined> | undefined
  let isClosed = false

  const ask = (except: readonly string[]) =>
    nextItem(project, queue, { annotators, except: [...except, ...unsaved] })

  async function take(except: readonly string[]): Promise<Held | undefined> {
    const asked = performance.now()
    const { item, leased_items } = await ask(except)
    othersOn.value = leased_items
    if (item === null) return undefined
    if (isClosed) {
      await releaseItem(project, queue, item.id)
      return undefined
    }
    return holdOf({ project, queue, user }, questions, item, untilFrom(asked))
  }

  function giveBack(): void {
    void following
      ?.then((ahead) => ahead && releaseItem(project, queue, ahead.item.id))
      .catch(() => undefined)
  }

  return {
    /** How many items others are on. */
    othersOn,
    /** Fetches the item behind this one. */
    fetchAhead({ item }: Held): void {
      following ??= take([item.id]).catch(() => undefined)
    },
    /** Keeps what was fetched for longer, if it is still handed out behind this one. */
    async renewAhead(held: Held): Promise<void> {
      const ahead = await following
      if (ahead === undefined) return
      const asked = performance.now()
      const { item } = await ask([held.item.id])
      if (item?.id === ahead.item.id) ahead.until.value = untilFrom(asked)
    },
    /** The item that was fetched, or another one where that is kept no longer. */
    async next(): Promise<Held | undefined> {
      const ahead = await following
      following = undefined
      const isLate = ahead !== undefined && ahead.until.value < performance.now()
      return ahead === undefined || isLate ? take([]) : ahead
    },
    /** This item is the next one again; what was fetched goes to others. */
    async putBack(held: Held): Promise<void> {
      const ahead = await following
      if (ahead !== undefined) void releaseItem(project, queue, ahead.item.id).catch(() => undefined)
      following = Promise.resolve(held)
    },
    giveBack,
    close(): void {
      isClosed = true
      giveBack()
    },
  }
}
