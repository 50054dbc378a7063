import type { Generation } from '../backend.ts'
import type { createPromptCache } from '../prompt-cache/prompt-cache.ts'
import { promptGroupOf } from '../prompt-group.ts'
import type { OpenRequests } from './open-requests.ts'
import { type Answering, notePause } from './request.ts'
import type { SequenceMemory } from './sequence-memory.ts'
import { maxReused, type Sequence, type Sequences } from './sequences.ts'
import type { ActiveTenants } from './turns/active-tenants.ts'

interface AdmissionParts {
  open: OpenRequests
  sequences: Sequences
  memory: SequenceMemory
  cache: Pick<ReturnType<typeof createPromptCache>, 'find'>
  tenants: ActiveTenants
}

export type Admission = ReturnType<typeof createAdmission>

/** Decides which waiting answers get a sequence, and which one. Called only between two batches. */
export function createAdmission({ open, sequences, memory, cache, tenants }: AdmissionParts) {
  const { running, queue, behind, queueOf, runningOf } = open

  function start(answering: Answering, sequence: Sequence): void {
    answering.sequence = sequence
    answering.request.hasBegun = true
    running.add(answering)
  }

  function release(answering: Answering): void {
    running.delete(answering)
    const { sequence } = answering
    answering.sequence = undefined
    if (sequence === undefined) return
    memory.discardGuesses(sequence)
    sequences.give(sequence)
  }

  /** Sequences available to callers: the free ones and those of background work. */
  function room(): number {
    return sequences.free() + runningOf(true).length
  }

  /** Takes sequences from background work until `count` are free: first those that are quickest to read again. */
  function makeRoom(count: number): void {
    const shortest = runningOf(true).sort(
      (a, b) => (a.sequence?.tokens.length ?? 0) - (b.sequence?.tokens.length ?? 0),
    )
    for (const answering of shortest) {
      if (sequences.free() >= count) return
      notePause(answering)
      release(answering)
      behind.add(answering)
    }
  }

  /**
   * Sequences available to a tenant. While other tenants are active, the last one is reserved for a tenant that runs
   * nothing: otherwise the long answers of one tenant would shut out the others until they end.
   */
  function roomFor(tenant: string): number {
    const runs = runningOf(false).some((answering) => answering.tenant === tenant)
    return room() - (runs && tenants.hasOthers(tenant) ? 1 : 0)
  }

  async function begin(answering: Answering): Promise<void> {
    const { request, isBackground } = answering
    const { prompt } = request
    const key = promptKeyOf(request.generation)
    if (!isBackground) makeRoom(request.together)
    const remember = request.promptLogprobs === undefined
    const found = remember ? cache.find(prompt, key, maxReused(prompt)) : undefined
    const taken = sequences.take(prompt, key, remember, { isBackground, elsewhere: found })
    if (taken === undefined) return
    const { sequence, from, shared } = taken
    queueOf(answering).remove(answering)
    await memory.keepWhatIsLost(sequence, from === undefined ? shared : 0)
    if (from === 'elsewhere') await memory.restore(found, sequence)
    else if (from !== undefined) await memory.copy(from, sequence)
    answering.cached = memory.cut(sequence, shared)
    sequence.key = key
    start(answering, sequence)
    request.leader ??= answering
    if (request.together === 1) return
    for (const beam of request.unfinished) {
      const other = beam === answering ? undefined : sequences.takeAny()
      if (other === undefined) continue
      await memory.keepWhatIsLost(other)
      beam.isIdle = true
      start(beam, other)
    }
  }

  /** Any free sequence, if the answer may have one; for an answer that continues from a copy of another sequence. */
  function takeAny({ tenant, isBackground }: Answering): Sequence | undefined {
    if (isBackground) return queue.length === 0 ? sequences.takeAny(true) : undefined
    if (roomFor(tenant) < 1) return undefined
    makeRoom(1)
    return sequences.takeAny()
  }

  return {
    release,
    releaseLeft(): void {
      for (const answering of running) if (open.isGone(answering)) release(answering)
    },
    async admit(): Promise<void> {
      let held = 0
      for (const answering of queue) {
        const { request } = answering
        if (open.isGone(answering)) continue
        // Nothing overtakes a beam search that waits for room, or it would wait for ever.
        if (room() - held < request.together) return
        if (roomFor(answering.tenant) - held < request.together) continue
        // Another answer of the same request is reading the prompt, and this one will follow it. Later requests do not
        // get its sequence.
        if (request.isShared && request.leader !== undefined && !request.isRead) held++
        else await begin(answering)
      }
    },
    /** Returns whether background work has a sequence. While callers wait, none is started. */
    async admitBackground(): Promise<boolean> {
      for (const answering of queue.length > 0 ? [] : behind) {
        const { request } = answering
        if (sequences.free(true) === 0) break
        const follows = request.isShared && request.leader !== undefined && !request.isRead
        if (!follows) await begin(answering)
      }
      return runningOf(true).length > 0
    },
    /**
     * Starts the other answers of a request whose prompt has been read, as far as there is room: they continue from its
     * end.
     */
    async admitFollowers({ request, sequence }: Answering): Promise<Answering[]> {
      if (!request.isShared || sequence === undefined) return []
      const others: Answering[] = []
      for (const other of request.unfinished) {
        if (other.sequence !== undefined) continue
        const free = takeAny(other)
        // Those without room start later, and find the prompt in the KV cache.
        if (free === undefined) break
        queueOf(other).remove(other)
        start(other, free)
        others.push(other)
        await memory.keepWhatIsLost(free)
        await memory.copy(sequence, free)
      }
      return others
    },
  }
}

/** What a prompt must have in common with a computed one, besides tokens, to continue from it. */
export function promptKeyOf(
  generation: Pick<Generation, 'promptGroup' | 'tenant' | 'adapter' | 'salt'>,
): string {
  return JSON.stringify([promptGroupOf(generation), generation.adapter, generation.salt])
}
