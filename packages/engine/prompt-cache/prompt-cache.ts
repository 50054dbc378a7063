import type { PromptCacheLoad } from '../backend.ts'
import { commonLength, type Sequence } from '../loop/sequences.ts'
import type { NativeContext } from '../native/native.ts'
import type { StateFile, StateFiles } from './state-files.ts'

/** What a sequence had read, kept outside of the context after its cells were needed: in memory, on disk, or both. */
export interface CachedPrompt {
  readonly tokens: Uint32Array
  /** Only prompts with this key may share it, as with that of the sequence. */
  readonly key: string | undefined
  state: SavedState | undefined
  file: StateFile | undefined
  /** Increases with every use: the smallest is dropped first. */
  used: number
}

export type SavedState = Awaited<ReturnType<NativeContext['keep']>>

/** A kept prompt that begins like the given one. */
export interface FoundPrompt {
  cached: CachedPrompt
  shared: number
  /** Restoring it takes as long as reading this many tokens. */
  costs: number
}

interface PromptCacheParts {
  context: Pick<NativeContext, 'keep' | 'bytesOfToken'>
  /** Bytes. */
  bound: number
  /** Where prompts are kept across restarts of the engine. */
  disk?: DiskCacheOptions | undefined
  /** Fewer tokens than this are read again faster than they are kept. */
  least: number
  /** How long reading so many tokens takes; undefined until that is known. */
  readMs(tokens: number): number | undefined
}

export interface DiskCacheOptions {
  files: Pick<StateFiles, 'found' | 'save' | 'load' | 'remove'>
  /** Bytes. */
  bound: number
  /** Most tokens of a sequence. */
  longest: number
  /** What replaces a key in a file: it has the user, and a salt that whoever knows shares what was read with it. */
  keyOf(key: string | undefined): string
}

/** What is kept may never be used again, so it is worth this many times less than what it would save. */
const seldom = 4

/**
 * A copy that is not made is not measured either, so each one that is skipped makes the estimate a little smaller.
 * Otherwise a few slow copies on a busy machine would turn keeping off for good.
 */
const decayFactor = 0.97

/** Until the speed is known: bytes copied per millisecond. */
const firstBytesOfMs = 500_000

/** While others are decoding: no longer than the largest piece of a prompt that may be read alongside them. */
const maxBesideMs = 225

/** Each batch of a slow model takes longer than that: then as long as this many tokens of a prompt. */
const tokensOfBatch = 64

/**
 * What sequences had read when they were overwritten; the most recently used ones are kept, up to one bound for memory
 * and one for disk. Keeping and restoring are copies; on a CPU, reading takes fifty times as long. All are measured,
 * and copies that would not pay are skipped.
 */
export function createPromptCache({ context, bound, disk, least, readMs }: PromptCacheParts) {
  const all = new Set<CachedPrompt>()
  const { bytesOfToken = 0 } = context
  const isPossible = context.bytesOfToken !== undefined
  const memory = createStore(isPossible ? bound : 0)
  const onDisk = createStore(isPossible ? (disk?.bound ?? 0) : 0)
  let uses = 0
  /** The last result of `find` is not dropped until it has been restored. */
  let wanted: CachedPrompt | undefined
  const counts = { saved: 0, restored: 0, dropped: 0, skipped: 0 }
  const diskCounts = { written: 0, restored: 0, removed: 0, failed: 0 }
  const keyed = (key: string | undefined) => (disk === undefined ? key : disk.keyOf(key))

  for (const { tokens, key, file } of onDisk.bound > 0 ? (disk?.files.found(disk.longest) ?? []) : []) {
    all.add({ tokens, key, state: undefined, file, used: ++uses })
    onDisk.bytes += file.bytes
    onDisk.prompts++
  }
  makeDiskRoom(0)

  function dropState(prompt: CachedPrompt): void {
    if (prompt.state === undefined) return
    memory.bytes -= prompt.state.bytes
    memory.prompts--
    prompt.state.dispose()
    prompt.state = undefined
    if (prompt.file === undefined) all.delete(prompt)
  }

  function dropFile(prompt: CachedPrompt): void {
    if (prompt.file === undefined) return
    onDisk.bytes -= prompt.file.bytes
    onDisk.prompts--
    disk?.files.remove(prompt.file)
    prompt.file = undefined
    if (prompt.state === undefined) all.delete(prompt)
  }

  const oldestFirst = () => Array.from(all).sort((a, b) => a.used - b.used)

  /** False when there is no room, because `wanted` takes it. */
  function makeRoom(needed: number): boolean {
    const isThere = () => memory.bytes + needed <= memory.bound
    for (const prompt of isThere() ? [] : oldestFirst()) {
      if (isThere()) break
      if (prompt === wanted || prompt.state === undefined) continue
      dropState(prompt)
      counts.dropped++
    }
    return isThere()
  }

  function makeDiskRoom(needed: number): boolean {
    const isThere = () => onDisk.bytes + needed <= onDisk.bound
    for (const prompt of isThere() ? [] : oldestFirst()) {
      if (isThere()) break
      if (prompt === wanted || prompt.file === undefined) continue
      dropFile(prompt)
      diskCounts.removed++
    }
    return isThere()
  }

  /** A kept prompt with the same key that contains these tokens as its beginning. */
  function keptWith(tokens: readonly number[], key: string | undefined): CachedPrompt | undefined {
    for (const prompt of all) if (prompt.key === key && beginsWith(prompt.tokens, tokens)) return prompt
    return undefined
  }

  const tokensOf = (ms: number) => {
    const msOfToken = readMs(1)
    return msOfToken === undefined ? 0 : ms / msOfToken
  }

  /** How long restoring it takes, in milliseconds. */
  function restoreMs({ state, file }: CachedPrompt): number {
    return state ? state.bytes * memory.restoreMsOfByte : (file?.bytes ?? 0) * onDisk.restoreMsOfByte
  }

  async function toMemory(prompt: CachedPrompt, sequence: number, needed: number): Promise<void> {
    if (!makeRoom(needed)) return
    memory.bytes += needed
    const since = performance.now()
    const state = await context.keep(sequence)
    memory.keepMsOfByte = smoothed(memory.keepMsOfByte, (performance.now() - since) / state.bytes)
    memory.bytes += state.bytes - needed
    memory.prompts++
    prompt.state = state
    counts.saved++
  }

  async function toDisk(prompt: CachedPrompt, sequence: number, needed: number): Promise<void> {
    if (disk === undefined || !makeDiskRoom(needed)) return
    const since = performance.now()
    const file = await disk.files.save(sequence, Array.from(prompt.tokens), prompt.key ?? '')
    if (file === undefined) {
      diskCounts.failed++
      return
    }
    onDisk.keepMsOfByte = smoothed(onDisk.keepMsOfByte, (performance.now() - since) / file.bytes)
    onDisk.bytes += file.bytes
    onDisk.prompts++
    prompt.file = file
    diskCounts.written++
  }

  return {
    get load(): PromptCacheLoad {
      const shown = ({ bytes, bound, prompts }: Store) => ({ bytes, bound, prompts })
      return {
        ...counts,
        ...shown(memory),
        ...(onDisk.bound > 0 && { disk: { ...diskCounts, ...shown(onDisk) } }),
      }
    },
    /** The kept prompt that shares the longest beginning with this one, at most `most` tokens. */
    find(prompt: readonly number[], promptKey: string, most: number): FoundPrompt | undefined {
      wanted = undefined
      if (all.size === 0) return undefined
      const key = keyed(promptKey)
      let best: { cached: CachedPrompt; shared: number } | undefined
      for (const cached of all) {
        if (cached.key !== key) continue
        // Of two that share equally much, the one that is restored faster. Many begin with the same instructions: one
        // that cannot be better is recognized at the first token that would make it so.
        const isSooner = best === undefined || restoreMs(cached) < restoreMs(best.cached)
        const needed: number = isSooner ? (best?.shared ?? least) : (best?.shared ?? 0) + 1
        if (needed > most || cached.tokens[needed - 1] !== prompt[needed - 1]) continue
        const shared = Math.min(most, commonLength(cached.tokens, prompt))
        if (shared >= needed) best = { cached, shared }
      }
      wanted = best?.cached
      return best && { ...best, costs: Math.ceil(tokensOf(restoreMs(best.cached))) }
    },
    /** Called before a sequence loses all but its first `stays` tokens: keeps what it holds where that pays. */
    async keep(sequence: Sequence, stays: number, doOthersWrite: boolean): Promise<void> {
      const { id, tokens, isBackground } = sequence
      const lost = tokens.length - stays
      const needed = tokens.length * bytesOfToken
      if (memory.bound + onDisk.bound === 0 || isBackground || lost < least) return
      const key = keyed(sequence.key)
      const known = keptWith(tokens, key)
      if (known !== undefined) {
        known.used = ++uses
        return
      }
      const maxMs = Math.max(maxBesideMs, readMs(tokensOfBatch) ?? 0)
      let leftMs = doOthersWrite ? maxMs : Number.POSITIVE_INFINITY
      const pays = (store: Store) => {
        const ms = needed * store.keepMsOfByte
        if (needed > store.bound || ms > leftMs) return false
        if (tokensOf(ms) * seldom > lost) {
          store.keepMsOfByte *= decayFactor
          return false
        }
        leftMs -= ms
        return true
      }
      const inMemory = pays(memory)
      const inFile = pays(onDisk)
      if (!inMemory && !inFile) {
        counts.skipped++
        return
      }
      const beginnings = Array.from(all).filter(
        (prompt) => prompt !== wanted && prompt.key === key && beginsWith(tokens, prompt.tokens),
      )
      for (const prompt of beginnings) dropState(prompt)
      const prompt: CachedPrompt = {
        tokens: Uint32Array.from(tokens),
        key,
        state: undefined,
        file: undefined,
        used: ++uses,
      }
      if (inMemory) await toMemory(prompt, id, needed)
      if (inFile) await toDisk(prompt, id, needed)
      if (prompt.state === undefined && prompt.file === undefined) {
        counts.skipped++
        return
      }
      all.add(prompt)
      // Parts stay on disk until the whole is there.
      if (prompt.file !== undefined) for (const beginning of beginnings) dropFile(beginning)
      makeRoom(0)
      makeDiskRoom(0)
    },
    /** Gives the sequence the first `shared` tokens; none when the kept state is rejected. */
    async restore({ cached, shared }: FoundPrompt, to: Sequence): Promise<void> {
      const { state, file } = cached
      wanted = undefined
      const since = performance.now()
      const restored =
        state?.restore(to.id, shared) ?? (file && disk?.files.load(file, cached.tokens.length, to.id, shared))
      if (restored === undefined) throw new Error('a found prompt is not stored anywhere')
      if (!(await restored)) {
        dropState(cached)
        dropFile(cached)
        to.tokens = []
        return
      }
      const store = state ? memory : onDisk
      const bytes = state?.bytes ?? file?.bytes ?? 1
      store.restoreMsOfByte = smoothed(store.restoreMsOfByte, (performance.now() - since) / bytes)
      cached.used = ++uses
      counts.restored++
      if (state === undefined) diskCounts.restored++
      to.tokens = Array.from(cached.tokens.subarray(0, shared))
    },
    /**
     * Before the engine ends: writes what sequences hold, then what is in memory alone, to disk until `until`; most
     * recently used first. Nothing else may use the sequences any more.
     */
    async keepOnDisk(sequences: readonly Sequence[], until: number): Promise<void> {
      if (disk === undefined || onDisk.bound === 0) return
      const isLate = (needed: number) => performance.now() + needed * onDisk.keepMsOfByte > until
      // What is written now does not evict what was written just before it.
      let room = onDisk.bound
      const write = async (prompt: CachedPrompt, sequence: number) => {
        const needed = prompt.tokens.length * bytesOfToken
        if (needed > room || isLate(needed)) return
        prompt.used = ++uses
        await toDisk(prompt, sequence, needed)
        if (prompt.file === undefined) return
        room -= prompt.file.bytes
        all.add(prompt)
      }
      for (const { id, tokens, key: promptKey, isBackground } of sequences.toSorted(
        (a, b) => b.used - a.used,
      )) {
        const key = keyed(promptKey)
        if (isBackground || tokens.length < least || keptWith(tokens, key)?.file !== undefined) continue
        await write({ tokens: Uint32Array.from(tokens), key, state: undefined, file: undefined, used: 0 }, id)
      }
      const [scratch] = sequences
      for (const prompt of oldestFirst().reverse()) {
        if (scratch === undefined || prompt.state === undefined || prompt.file !== undefined) continue
        if (isLate(2 * prompt.state.bytes)) return
        if (await prompt.state.restore(scratch.id, prompt.tokens.length)) await write(prompt, scratch.id)
      }
    },
    close(): void {
      for (const prompt of all) dropState(prompt)
    },
  }
}

/** Compares the last token first: prompts that begin alike differ there. */
function beginsWith(whole: ArrayLike<number>, beginning: ArrayLike<number>): boolean {
  const { length } = beginning
  if (length > whole.length || whole[length - 1] !== beginning[length - 1]) return false
  return commonLength(whole, beginning) === length
}

interface Store {
  bound: number
  bytes: number
  prompts: number
  keepMsOfByte: number
  restoreMsOfByte: number
}

const createStore = (bound: number): Store => ({
  bound,
  bytes: 0,
  prompts: 0,
  keepMsOfByte: 1 / firstBytesOfMs,
  restoreMsOfByte: 1 / firstBytesOfMs,
})

/** A measurement during which something else used the processor says little about the next. */
function smoothed(before: number, now: number): number {
  return 0.8 * before + 0.2 * Math.min(now, 4 * before)
}
