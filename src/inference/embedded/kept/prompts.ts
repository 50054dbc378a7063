import type { PromptCacheLoad } from '../../backend.ts'
import type { NativeContext } from '../native.ts'
import { commonLength, type Sequence } from '../sequences.ts'

/** What a sequence had read, kept outside of the context after others needed its place. */
export interface KeptPrompt {
  readonly tokens: Uint32Array
  /** Whose prompts may share it: as that of the sequence. */
  readonly key: string | undefined
  readonly state: KeptState
  /** Goes up with every use: the smallest is dropped first. */
  used: number
}

export type KeptState = Awaited<ReturnType<NativeContext['keep']>>

/** A kept prompt that begins like one that comes. */
export interface FoundPrompt {
  kept: KeptPrompt
  shared: number
  /** As many tokens could be read in the time that restoring it takes. */
  costs: number
}

export interface KeepingParts {
  context: Pick<NativeContext, 'keep' | 'bytesOfToken'>
  /** Bytes. */
  bound: number
  /** Fewer tokens are read again sooner than they are kept. */
  least: number
  /** How long reading so many tokens takes; undefined until that is known. */
  readMs(tokens: number): number | undefined
}

/** What is kept may never be asked for again: it is worth so much less than what it would save. */
const seldom = 4

/** Until the speed is known: bytes that are copied in a millisecond. */
const firstBytesOfMs = 500_000

/** Others write meanwhile: no longer than the largest piece of a prompt that may be read beside them. */
const longestBesideMs = 225

/** Of a slow model each batch takes longer than that: as long as this many tokens of a prompt. */
const tokensOfBatch = 64

/**
 * What sequences had read when they had to make room, up to a bound of memory, the latest used. Keeping and restoring are copies
 * of memory, of which reading takes fifty times as long on a CPU: both are measured, and what would not pay is left.
 */
export function createKeptPrompts({ context, bound, least, readMs }: KeepingParts) {
  const all = new Set<KeptPrompt>()
  let bytes = 0
  let uses = 0
  let keepMsOfByte = 1 / firstBytesOfMs
  let restoreMsOfByte = 1 / firstBytesOfMs
  const { bytesOfToken = 0 } = context
  const room = context.bytesOfToken === undefined ? 0 : bound
  const counts = { kept: 0, restored: 0, dropped: 0, skipped: 0 }

  function drop(one: KeptPrompt): void {
    if (!all.delete(one)) return
    bytes -= one.state.bytes
    one.state.dispose()
  }

  function makeRoom(needed: number): void {
    const oldestFirst = Array.from(all).sort((one, other) => one.used - other.used)
    for (const one of oldestFirst) {
      if (bytes + needed <= room) return
      drop(one)
      counts.dropped++
    }
  }

  /** Whether what a sequence holds is kept already, as a part of something at least as long. */
  function keptWith({ tokens, salt }: Sequence): KeptPrompt | undefined {
    for (const one of all) {
      if (one.key === salt && commonLength(one.tokens, tokens) === tokens.length) return one
    }
    return undefined
  }

  const tokensOf = (ms: number) => {
    const one = readMs(1)
    return one === undefined ? 0 : ms / one
  }

  return {
    get load(): PromptCacheLoad {
      return { ...counts, bytes, bound: room, prompts: all.size }
    },
    /** The one that has most of the beginning of a prompt, at most so many tokens. */
    find(prompt: readonly number[], key: string | undefined, most: number): FoundPrompt | undefined {
      let best: { kept: KeptPrompt; shared: number } | undefined
      for (const kept of all) {
        if (kept.key !== key) continue
        const shared = Math.min(most, commonLength(kept.tokens, prompt))
        if (shared < least || (best !== undefined && shared < best.shared)) continue
        // Of two that have as much of it, the shorter is copied sooner.
        const isBetter = best === undefined || shared > best.shared
        if (isBetter || kept.tokens.length < (best?.kept.tokens.length ?? 0)) best = { kept, shared }
      }
      return best && { ...best, costs: Math.ceil(tokensOf(best.kept.state.bytes * restoreMsOfByte)) }
    },
    /** Before a sequence loses all but its first so many tokens: what it holds is kept, where that pays. */
    async keep(sequence: Sequence, stays: number, doOthersWrite: boolean): Promise<void> {
      const { tokens, salt, isBackground } = sequence
      const lost = tokens.length - stays
      const needed = tokens.length * bytesOfToken
      if (room === 0 || isBackground || lost < least) return
      const known = keptWith(sequence)
      if (known !== undefined) {
        known.used = ++uses
        return
      }
      const expectedMs = needed * keepMsOfByte
      const longestMs = Math.max(longestBesideMs, readMs(tokensOfBatch) ?? 0)
      const isTooLong = doOthersWrite && expectedMs > longestMs
      if (needed > room || tokensOf(expectedMs) * seldom > lost || isTooLong) {
        counts.skipped++
        return
      }
      for (const one of all) {
        const isPart = one.key === salt && commonLength(one.tokens, tokens) === one.tokens.length
        if (isPart) drop(one)
      }
      makeRoom(needed)
      bytes += needed
      const since = performance.now()
      const state = await context.keep(sequence.id)
      keepMsOfByte = smoothed(keepMsOfByte, (performance.now() - since) / state.bytes)
      bytes += state.bytes - needed
      all.add({ tokens: Uint32Array.from(tokens), key: salt, state, used: ++uses })
      counts.kept++
      makeRoom(0)
    },
    /** The sequence gets the first so many tokens; none when what was kept is not taken. */
    async restore({ kept, shared }: FoundPrompt, to: Sequence): Promise<void> {
      const since = performance.now()
      const isThere = await kept.state.restore(to.id, shared)
      if (!isThere) {
        drop(kept)
        to.tokens = []
        return
      }
      restoreMsOfByte = smoothed(restoreMsOfByte, (performance.now() - since) / kept.state.bytes)
      kept.used = ++uses
      counts.restored++
      to.tokens = Array.from(kept.tokens.subarray(0, shared))
    },
    close(): void {
      for (const one of all) drop(one)
    },
  }
}

/** A turn in which something else had the processor says little about the next. */
function smoothed(before: number, now: number): number {
  return 0.8 * before + 0.2 * Math.min(now, 4 * before)
}
