import { batch, computed, signal } from '@preact/signals'
import type { Draft } from '../../review/draft.ts'
import { type QueueItem, type QueueStats, readStats } from '../../server/queues.ts'
import { RefusedError } from '../../server/request.ts'
import { readItem, releaseItem, reopenItem } from '../../server/reviews.ts'
import { isSignedIn } from '../../server/session-half.ts'
import { createItemSource, type ReviewContext } from './item-source.ts'
import {
  type LeasedItem,
  leaseEnd,
  loadLeasedItem,
  type Save,
  saveOf,
  writeAll,
  writeAnswers,
} from './leased-item.ts'
import { createOutbox } from './outbox.ts'
import { createPresence } from './presence.ts'
import { findProblems, problemsIn } from './problems.ts'
import { openUnsent } from './unsent.ts'

interface Given extends ReviewContext {
  /** Called with the id of the current item. */
  onItem(item: string | undefined): void
}

type Phase =
  | { kind: 'looking' }
  | { kind: 'item'; held: LeasedItem }
  /** This reviewer has completed or skipped it already. */
  | { kind: 'finished'; held: LeasedItem }
  | { kind: 'none' }
  | { kind: 'failed'; error: Error }

const notKept =
  'Your answers are too large for this browser to keep: reloading the page loses what is not saved.'

/** The review of a queue by one reviewer: the current item, the next one, and what is being saved. */
export function createReview(given: Given) {
  const { project, queue, user, questions, onItem } = given
  const phase = signal<Phase>({ kind: 'looking' })
  const problems = signal<ReadonlyMap<string, string>>(new Map())
  const refused = signal<{ save: Save; error: Error } | undefined>(undefined)
  const undoable = signal<{ save: Save; saved: Promise<void> } | undefined>(undefined)
  /** A failure that loses nothing. */
  const notice = signal<string | undefined>(undefined)
  const stats = signal<QueueStats | undefined>(undefined)
  const isWorking = signal(false)
  const outbox = createOutbox()
  const unsent = openUnsent({ queue, user })
  /** Finished items that the server may not know to be finished. */
  const unsaved = new Set<string>()
  const finishedAt: number[] = []
  let begunAt = performance.now()
  let isClosed = false

  const current = computed(() => (phase.value.kind === 'item' ? phase.value.held : undefined))
  const handOut = createItemSource(given, unsaved)
  const presence = createPresence(given, current, (held) => {
    void handOut.renewPrefetched(held).catch(() => undefined)
  })

  function show(held: LeasedItem): void {
    batch(() => {
      phase.value = { kind: isFinished(held.item) ? 'finished' : 'item', held }
      problems.value = new Map()
      presence.see(held.item)
    })
    onItem(held.item.id)
    if (phase.value.kind !== 'item') return
    void presence.beat()
    handOut.prefetch(held)
  }

  const isFinished = ({ own_annotation_state: state }: QueueItem) =>
    state === 'completed' || state === 'skipped'

  async function lookFurther(): Promise<void> {
    // While waiting for other reviewers, the message stays as it is.
    if (phase.value.kind !== 'none') phase.value = { kind: 'looking' }
    try {
      const held = await handOut.next()
      if (isClosed) return
      if (held !== undefined) return show(held)
      onItem(undefined)
      phase.value = { kind: 'none' }
      await refreshStats()
    } catch (error) {
      if (!isClosed) phase.value = { kind: 'failed', error: error as Error }
    }
  }

  async function holdAgain(id: string): Promise<LeasedItem> {
    const asked = performance.now()
    const item = await readItem(project, queue, id)
    if (item === undefined)
      throw new RefusedError(404, 'not_found', 'It was removed from the queue, or was never in it.')
    return loadLeasedItem({ project, queue, user }, questions, item, leaseEnd(asked))
  }

  async function open(id: string): Promise<void> {
    try {
      // Showing the item takes the lease, or finds that another reviewer has it.
      const held = await holdAgain(id)
      if (unsent.entered?.item === id && !isFinished(held.item)) {
        held.drafts.value = new Map(unsent.entered.drafts)
        held.isChanged = true
      }
      if (!isClosed) show(held)
    } catch (error) {
      if (!isClosed) phase.value = { kind: 'failed', error: error as Error }
    }
  }

  async function refreshStats(): Promise<void> {
    const found = await readStats(project, [queue], new AbortController().signal).catch(() => undefined)
    if (found && !isClosed) stats.value = found.get(queue)
  }

  async function finish(state: Save['state']): Promise<void> {
    const held = current.value
    if (held === undefined || isWorking.value) return
    if (state === 'completed') {
      const found = findProblems(held)
      problems.value = found
      if (found.size > 0) return
    }
    const save = saveOf(held, state)
    const written = new Set([...save.add, ...save.replace].map(([key]) => key))
    if (held.questions.some(({ key, isCertain }) => !isCertain && written.has(key))) {
      // Only the server can tell whether these values fit.
      isWorking.value = true
      try {
        await writeAnswers(save)
        save.add = []
        save.replace = []
        save.remove = []
      } catch (error) {
        problems.value = problemsIn(save, error as Error)
        if (!(error instanceof RefusedError) || problems.value.size === 0) {
          problems.value = new Map()
          refused.value = { save, error: error as Error }
        }
        return
      } finally {
        isWorking.value = false
      }
    }
    held.isChanged = false
    finishedAt.push(performance.now())
    if (!unsent.add(save)) notice.value = notKept
    const saved = send(held.item.id, async () => save)
    undoable.value = { save, saved }
    await lookFurther()
  }

  /** Retries until the server accepts or refuses it; what is refused is kept, so that the reviewer can return to it. */
  function send(id: string, read: () => Promise<Save>): Promise<void> {
    unsaved.add(id)
    let save: Save | undefined
    return outbox.add({
      run: async () => {
        save ??= await read()
        await writeAll(save)
        unsaved.delete(id)
        unsent.remove(id)
        void refreshStats()
      },
      onRefused: (error) => {
        unsaved.delete(id)
        if (save !== undefined) refused.value = { save, error }
        else notice.value = `An earlier item is not saved: ${error.message}`
      },
    })
  }

  /** Writes left over from before a reload are sent under the same ids, so that nothing is stored twice. */
  for (const { item, drafts, ...rest } of unsent.saves) {
    void send(item, async () => {
      const held = await holdAgain(item)
      held.drafts.value = new Map(drafts)
      return { held, ...rest }
    })
  }

  /** Returns to an item; the current one becomes the next. */
  async function comeBack({ held }: Save, isReopened: boolean): Promise<boolean> {
    isWorking.value = true
    notice.value = undefined
    try {
      const item = isReopened ? await reopenItem(project, queue, held.item.id) : held.item
      const before = current.value
      if (before !== undefined) await handOut.putBack(before)
      finishedAt.pop()
      show({ ...held, item })
      void refreshStats()
      return true
    } catch (error) {
      notice.value = `Item ${held.item.position_in_queue} could not be opened again: ${(error as Error).message}`
      return false
    } finally {
      isWorking.value = false
    }
  }

  function releaseCurrent(): void {
    const held = current.value
    if (held !== undefined) void releaseItem(project, queue, held.item.id).catch(() => undefined)
  }

  const onPageHide = () => {
    releaseCurrent()
    handOut.giveBack()
  }
  addEventListener('pagehide', onPageHide)
  void refreshStats()

  return {
    phase,
    current,
    othersOn: handOut.othersOn,
    takenBy: presence.takenBy,
    problems,
    refused,
    notice,
    undoable,
    stats,
    isWorking,
    waiting: outbox.waiting,
    fault: outbox.fault,
    open,
    lookFurther,
    finish,
    /** Leases the item again after its lease ran out. */
    takeAgain: presence.beat,
    answer(key: string, draft: Draft): void {
      const held = current.value
      if (held === undefined) return
      held.isChanged = true
      const next = new Map(held.drafts.value)
      next.set(key, draft)
      held.drafts.value = next
      if (!unsent.enter(held.item.id, next)) notice.value = notKept
      if (!problems.value.has(key)) return
      const left = new Map(problems.value)
      left.delete(key)
      problems.value = left
    },
    async undo(): Promise<void> {
      const last = undoable.value
      if (last === undefined || isWorking.value) return
      undoable.value = undefined
      await last.saved
      // What was refused cannot be undone.
      if (refused.value?.save === last.save) refused.value = undefined
      if (!(await comeBack(last.save, true))) undoable.value = last
    },
    async backToRefused(): Promise<void> {
      const given = refused.value
      refused.value = undefined
      if (given === undefined) return
      const { held } = given.save
      if (held !== current.value && (await comeBack(given.save, false))) {
        unsent.remove(held.item.id)
        unsent.enter(held.item.id, held.drafts.value)
      }
      problems.value = problemsIn(given.save, given.error)
    },
    async reopen(held: LeasedItem): Promise<void> {
      await comeBack(saveOf(held, 'completed'), true)
    },
    /** Seconds per item since this review began. */
    pace(): number | undefined {
      const last = finishedAt.at(-1)
      return last === undefined ? undefined : (last - begunAt) / finishedAt.length / 1_000
    },
    /** What leaving would lose; undefined where nothing. */
    loss(): string | undefined {
      if (outbox.waiting.value > 0) return 'Your last answers are not saved yet.'
      if (refused.value) return 'An answer was refused and is not saved.'
      return current.value?.isChanged ? 'Your answers to this item are not saved.' : undefined
    },
    close(): void {
      isClosed = true
      // A user who leaves has confirmed it. One whose session ended will come back.
      if (isSignedIn.value) unsent.clear()
      removeEventListener('pagehide', onPageHide)
      presence.close()
      releaseCurrent()
      handOut.close()
    },
    begin(): void {
      begunAt = performance.now()
    },
  }
}

export type Review = ReturnType<typeof createReview>
