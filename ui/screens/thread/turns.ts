import { batch, signal } from '@preact/signals'
import type { LightCall } from '../../../src/operations/views/contract.ts'
import { readCalls } from '../../server/calls.ts'
import type { LiveEvent } from '../../server/events.ts'
import { guardedReads } from '../../server/guarded-reads.ts'
import { readThreadsNamed, readTurns, type Thread } from '../../server/threads.ts'
import { contentOf, readTurnCalls, type TurnContent } from './turn-content.ts'

const pageSize = 100

/** Turns whose calls are remembered, for the one after each. */
const maxRemembered = 20

/** The turns of a conversation, which are read in pages, and what each says. */
export function createTurns(project: string, thread: string) {
  const turns = signal<readonly LightCall[] | undefined>(undefined)
  const summary = signal<Thread | undefined>(undefined)
  const isAll = signal(false)
  /** Changes when something of the conversation may have changed. */
  const version = signal(0)
  const { error, closing, closed, guarded, following } = guardedReads()
  /** Where the last page that was read begins. */
  let lastPage: { after: string | undefined; offset: number } = { after: undefined, offset: 0 }
  let next: string | null = null
  let reading: Promise<void> | undefined
  let isStale = false
  let changed = new Set<string>()
  const calls = new Map<string, ReturnType<typeof readTurnCalls>>()

  async function readPage(after: string | undefined, offset: number): Promise<void> {
    const page = await readTurns(project, thread, { limit: pageSize, after }, closed)
    lastPage = { after, offset }
    next = page.next
    batch(() => {
      turns.value = [...(turns.value ?? []).slice(0, offset), ...page.calls]
      isAll.value = page.next === null
      error.value = undefined
    })
  }

  const readSummary = async () => {
    summary.value = (await readThreadsNamed(project, [thread], closed))[0]
  }

  function more(): Promise<void> {
    if (isAll.value || error.value !== undefined) return Promise.resolve()
    reading ??= guarded(() => readPage(next ?? undefined, turns.value?.length ?? 0)).finally(() => {
      reading = undefined
    })
    return reading
  }

  async function readChanges(): Promise<void> {
    isStale = false
    const ids = changed
    changed = new Set()
    // Before the new turns are shown, which read what they say anew.
    calls.clear()
    const earlier = (turns.value ?? []).slice(0, lastPage.offset).filter(({ id }) => ids.has(id))
    if (earlier.length > 0) {
      const found = await readCalls(
        { project },
        earlier.map(({ id }) => id),
        closed,
      )
      const byId = new Map(found.map((call) => [call.id, call]))
      turns.value = turns.value?.map((call) => byId.get(call.id) ?? call)
    }
    await readPage(lastPage.after, lastPage.offset)
    await readSummary()
    version.value++
  }

  const digest = following(() => isStale, readChanges)

  function callsOf(turn: LightCall): ReturnType<typeof readTurnCalls> {
    const known = calls.get(turn.id)
    if (known !== undefined) return known
    const found = readTurnCalls(project, turn, closed)
    calls.set(turn.id, found)
    found.catch(() => calls.delete(turn.id))
    const [oldest] = calls.keys()
    if (calls.size > maxRemembered && oldest !== undefined) calls.delete(oldest)
    return found
  }

  void more()
  // The turns are shown without it, too.
  readSummary().catch(() => undefined)

  return {
    turns,
    summary,
    isAll,
    error,
    version,
    more,
    /** All turns, for what is done with the whole conversation. */
    async all(): Promise<readonly LightCall[]> {
      while (!isAll.value && error.value === undefined && !closed.aborted) await more()
      return turns.value ?? []
    },
    async content(index: number): Promise<TurnContent> {
      const [before, turn] = [turns.value?.[index - 1], turns.value?.[index]]
      if (turn === undefined) throw new Error('There is no such turn.')
      const [last, own] = await Promise.all([before && callsOf(before), callsOf(turn)])
      return contentOf(own, last)
    },
    retry(): void {
      error.value = undefined
      void more()
    },
    hear(heard: LiveEvent): void {
      if (heard !== 'resync') {
        if (heard.project !== project || !(heard.kind === 'call' || heard.kind === 'feedback')) return
        for (const id of heard.ids ?? turns.value?.map((call) => call.id) ?? []) changed.add(id)
      }
      if (turns.value === undefined) return
      isStale = true
      void digest()
    },
    close: () => closing.abort(),
  }
}

export type Turns = ReturnType<typeof createTurns>
