import { batch, computed, signal } from '@preact/signals'
import { type Draft, judged } from '../../review/draft.ts'
import { Refused } from '../../server/ask.ts'
import { type QueueItem, type QueueStats, readStats } from '../../server/queues.ts'
import { nextItem, readItem, releaseItem, reopenItem, setProgress } from '../../server/reviews.ts'
import { type Held, holdOf, type Save, saveOf, untilFrom, writeAll, writeAnswers } from './held.ts'
import { createOutbox } from './outbox.ts'
import type { Question } from './questions.ts'

interface Given {
  project: string
  queue: string
  user: string
  questions: readonly Question[]
  /** How many reviewers an item needs. */
  annotators: number
  /** Hears which item is on the screen. */
  onItem(item: string | undefined): void
}

type Phase =
  | { kind: 'looking' }
  | { kind: 'item'; held: Held }
  /** This reviewer has completed or skipped it already. */
  | { kind: 'finished'; held: Held }
  | { kind: 'none' }
  | { kind: 'failed'; error: Error }

const beatEveryMs = 5 * 60_000
/** Who has not moved for as long is not at work. */
const idleAfterMs = 5 * 60_000

/** One reviewer on the way through a queue: the item before the eye, the one behind it, and what is being saved. */
export function createReview({ project, queue, user, questions, annotators, onItem }: Given) {
  const phase = signal<Phase>({ kind: 'looking' })
  const othersOn = signal(0)
  /** Who has taken the item over, after the lease ran out. */
  const takenBy = signal<string | undefined>(undefined)
  const problems = signal<ReadonlyMap<string, string>>(new Map())
  const refused = signal<{ save: Save; error: Error } | undefined>(undefined)
  const undoable = signal<{ save: Save; saved: Promise<void> } | undefined>(undefined)
  /** What could not be done, and loses nothing. */
  const notice = signal<string | undefined>(undefined)
  const stats = signal<QueueStats | undefined>(undefined)
  const isWorking = signal(false)
  const outbox = createOutbox()
  /** Items whose end the server may not know yet. */
  const unsaved = new Set<string>()
  const finishedAt: number[] = []
  let begunAt = performance.now()
  let following: Promise<Held | undefined> | undefined
  let isClosed = false
  let lastMoved = performance.now()

  const current = computed(() => (phase.value.kind === 'item' ? phase.value.held : undefined))
  const where = { project, queue, user }

  async function take(except: readonly string[]): Promise<Held | undefined> {
    const asked = performance.now()
    const { item, leased_items } = await nextItem(project, queue, {
      annotators,
      except: [...except, ...unsaved],
    })
    othersOn.value = leased_items
    if (item === null) return undefined
    if (isClosed) {
      await releaseItem(project, queue, item.id)
      return undefined
    }
    return holdOf(where, questions, item, untilFrom(asked))
  }

  /** Reads the item behind this one, so that it is there when this one is done. */
  function fetchAhead(): void {
    const held = current.value
    if (held === undefined || following !== undefined) return
    following = take([held.item.id]).catch(() => undefined)
  }

  function show(held: Held): void {
    batch(() => {
      phase.value = { kind: isFinished(held.item) ? 'finished' : 'item', held }
      problems.value = new Map()
      takenBy.value = otherOn(held.item)
    })
    onItem(held.item.id)
    if (phase.value.kind !== 'item') return
    void beat()
    fetchAhead()
  }

  const isFinished = ({ own_annotation_state: state }: QueueItem) =>
    state === 'completed' || state === 'skipped'

  function otherOn({ lease }: QueueItem): string | undefined {
    return lease !== null && lease.user !== user && Date.parse(lease.expires_at) > Date.now()
      ? lease.user
      : undefined
  }

  /** Says that somebody is on the item, which extends the lease or finds out who has it now. */
  async function beat(): Promise<void> {
    const held = current.value
    if (held === undefined) return
    const asked = performance.now()
    try {
      const item = await setProgress(project, queue, held.item.id, 'in_progress')
      if (current.value !== held) return
      takenBy.value = otherOn(item)
      if (takenBy.value === undefined) held.until.value = untilFrom(asked)
    } catch {
      // The clock goes on, and says how long the item is still kept.
    }
  }

  async function renewAhead(): Promise<void> {
    const [held, ahead] = [current.value, await following]
    if (held === undefined || ahead === undefined) return
    const asked = performance.now()
    const { item } = await nextItem(project, queue, { annotators, except: [held.item.id, ...unsaved] })
    if (item?.id === ahead.item.id) ahead.until.value = untilFrom(asked)
  }

  const timer = setInterval(() => {
    if (performance.now() - lastMoved > idleAfterMs || document.visibilityState !== 'visible') return
    const held = current.value
    if (held === undefined || held.until.value < performance.now()) return
    void beat()
    void renewAhead().catch(() => undefined)
  }, beatEveryMs)

  async function lookFurther(): Promise<void> {
    // Who waits for others is not shown anew that nothing is there.
    if (phase.value.kind !== 'none') phase.value = { kind: 'looking' }
    try {
      const ahead = await following
      following = undefined
      const isLate = ahead !== undefined && ahead.until.value < performance.now()
      const held = ahead === undefined || isLate ? await take([]) : ahead
      if (isClosed) return
      if (held !== undefined) return show(held)
      onItem(undefined)
      phase.value = { kind: 'none' }
      await refreshStats()
    } catch (error) {
      if (!isClosed) phase.value = { kind: 'failed', error: error as Error }
    }
  }

  async function open(id: string): Promise<void> {
    const asked = performance.now()
    try {
      const item = await readItem(project, queue, id)
      if (item === undefined) throw new Error('There is no such item in this queue.')
      // The lease is taken, or found to be another's, as soon as the item is shown.
      const held = await holdOf(where, questions, item, untilFrom(asked))
      if (!isClosed) show(held)
    } catch (error) {
      if (!isClosed) phase.value = { kind: 'failed', error: error as Error }
    }
  }

  async function refreshStats(): Promise<void> {
    const found = await readStats(project, [queue], new AbortController().signal).catch(() => undefined)
    if (found && !isClosed) stats.value = found.get(queue)
  }

  function findProblems(held: Held): Map<string, string> {
    const found = new Map<string, string>()
    for (const { key, field } of questions) {
      const { problem } = judged(field, held.drafts.value.get(key))
      if (problem !== undefined) found.set(key, problem)
    }
    return found
  }

  /** What the server says of one of the answers stands beside it. */
  function problemsIn(save: Save, error: Error): Map<string, string> {
    const at = /^batch\.(\d+)\./.exec(error.message)?.[1]
    const key = at === undefined ? save.replace[0]?.[0] : save.add[Number(at)]?.[0]
    return new Map(key === undefined ? [] : [[key, error.message.replace(/^batch\.\d+\./, '')]])
  }

  async function finish(state: Save['state']): Promise<void> {
    const held = current.value
    if (held === undefined || isWorking.value) return
    if (state === 'completed') {
      const found = findProblems(held)
      problems.value = found
      if (found.size > 0) return
    }
    const save = saveOf(held, questions, state)
    const written = new Set([...save.add, ...save.replace].map(([key]) => key))
    if (questions.some(({ key, isCertain }) => !isCertain && written.has(key))) {
      // Only the server can tell whether these values fit.
      isWorking.value = true
      try {
        await writeAnswers(save)
        save.add = []
        save.replace = []
        save.remove = []
      } catch (error) {
        problems.value = problemsIn(save, error as Error)
        if (!(error instanceof Refused) || problems.value.size === 0) {
          problems.value = new Map()
          refused.value = { save, error: error as Error }
        }
        return
      } finally {
        isWorking.value = false
      }
    }
    const { id } = held.item
    unsaved.add(id)
    held.isChanged = false
    finishedAt.push(performance.now())
    const saved = outbox.add({
      run: async () => {
        await writeAll(save)
        unsaved.delete(id)
        void refreshStats()
      },
      onRefused: (error) => {
        unsaved.delete(id)
        refused.value = { save, error }
      },
    })
    undoable.value = { save, saved }
    await lookFurther()
  }

  /** Back to an item; the one before the eye is then the next. */
  async function comeBack({ held }: Save, isReopened: boolean): Promise<boolean> {
    isWorking.value = true
    notice.value = undefined
    try {
      const item = isReopened ? await reopenItem(project, queue, held.item.id) : held.item
      const before = current.value
      const ahead = await following
      if (before !== undefined) {
        if (ahead !== undefined) void releaseItem(project, queue, ahead.item.id).catch(() => undefined)
        following = Promise.resolve(before)
      }
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

  const onMove = () => {
    const now = performance.now()
    lastMoved = now
    const held = current.value
    const left = held === undefined ? Infinity : held.until.value - now
    // Who comes back in the last minutes goes on.
    if (held !== undefined && left > 0 && left < 2 * 60_000 && takenBy.value === undefined) {
      held.until.value = now + 2 * 60_000
      void beat()
    }
  }

  function giveBack(): void {
    const held = current.value
    if (held !== undefined) void releaseItem(project, queue, held.item.id).catch(() => undefined)
    void following
      ?.then((ahead) => ahead && releaseItem(project, queue, ahead.item.id))
      .catch(() => undefined)
  }

  for (const kind of ['keydown', 'pointerdown', 'pointermove', 'wheel']) addEventListener(kind, onMove)
  addEventListener('pagehide', giveBack)
  void refreshStats()

  return {
    phase,
    current,
    othersOn,
    takenBy,
    problems,
    refused,
    notice,
    undoable,
    stats,
    isWorking,
    waiting: outbox.waiting,
    trouble: outbox.trouble,
    open,
    lookFurther,
    finish,
    /** Takes the item again after its lease ran out. */
    takeAgain: beat,
    answer(key: string, draft: Draft): void {
      const held = current.value
      if (held === undefined) return
      held.isChanged = true
      const next = new Map(held.drafts.value)
      next.set(key, draft)
      held.drafts.value = next
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
      // What was refused is not there to be taken back.
      if (refused.value?.save === last.save) refused.value = undefined
      if (!(await comeBack(last.save, true))) undoable.value = last
    },
    async backToRefused(): Promise<void> {
      const given = refused.value
      refused.value = undefined
      if (given === undefined) return
      if (given.save.held !== current.value) await comeBack(given.save, false)
      problems.value = problemsIn(given.save, given.error)
    },
    async reopen(held: Held): Promise<void> {
      await comeBack(saveOf(held, questions, 'completed'), true)
    },
    /** Seconds for each item since this review began. */
    pace(): number | undefined {
      const last = finishedAt.at(-1)
      return last === undefined ? undefined : (last - begunAt) / finishedAt.length / 1_000
    },
    /** What would be lost by leaving; undefined where nothing would be. */
    loss(): string | undefined {
      if (outbox.waiting.value > 0) return 'What you answered last is not saved yet.'
      if (refused.value) return 'An answer was refused and is not saved.'
      return current.value?.isChanged ? 'Your answers to this item are not saved.' : undefined
    },
    close(): void {
      isClosed = true
      clearInterval(timer)
      for (const kind of ['keydown', 'pointerdown', 'pointermove', 'wheel']) removeEventListener(kind, onMove)
      removeEventListener('pagehide', giveBack)
      giveBack()
    },
    begin(): void {
      begunAt = performance.now()
    },
  }
}

export type Review = ReturnType<typeof createReview>
