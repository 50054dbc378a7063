import { LRUCache } from 'lru-cache'
import type { Generation, GenerationEvent } from '../backend.ts'
import { type Continuations, createBeams } from '../beam.ts'
import { type AnswerPlan, type Choice, checkFirstToken, createChoice, planAnswer } from '../choice.ts'
import { createConstraints } from '../constraints/following-constraints.ts'
import { promptLogprob } from '../sampling/logprobs.ts'
import { createActiveTenants } from './active-tenants.ts'
import { adapterOf, createAdapterTurns, keyOf } from './adapter-turns.ts'
import { createBackgroundShare } from './background-share.ts'
import { createBatches, type Part } from './batches.ts'
import { checkGeneration } from './checks.ts'
import { firstChances } from './drafts/chances.ts'
import { createDrafting, type Drafting } from './drafts/drafting.ts'
import { howToDraft } from './drafts/how-to-draft.ts'
import { createPredicted, type Predicted } from './drafts/predicted.ts'
import { createKeptPrompts, type FoundPrompt, type KeptOnDisk } from './kept/prompts.ts'
import type { NativeContext, NativeModel } from './native.ts'
import { type EngineOptions, keepAtEndMs, type Load } from './protocol.ts'
import { type Answering, leftToRead, notePause, noteRead, type Request } from './request.ts'
import { createSequences, mostRemembered, type Sequence } from './sequences.ts'
import { createSlotQueue } from './slot-queue.ts'

export type Loop = ReturnType<typeof createLoop>

export interface Listener {
  /** What one batch brought; nothing, when only the load has changed. */
  happened(events: [id: number, event: GenerationEvent][]): void
  /** With a refusal, or with an unexpected error. */
  refused(id: number, reason: unknown): void
}

/**
 * The frames of a screen are this far apart: more steps than that are not seen. The tokens of a fast model meanwhile travel
 * together, for each message costs both processes half a millisecond that the model could use.
 */
const flushMs = 16

/**
 * All sequences continue together, one batch after the other. Between two batches, and only there, sequences change hands and
 * memory is forgotten or copied: nothing waits for a lock.
 */
export function createLoop(
  model: Pick<NativeModel, 'vocabulary' | 'tokenize' | 'parameters'>,
  context: Omit<NativeContext, 'close' | 'save' | 'load'>,
  options: EngineOptions & { disk?: KeptOnDisk | undefined },
  listener: Listener,
) {
  const copyFrom = 16 + Math.floor(options.context / 128)
  const sequences = createSequences(options.parallel, copyFrom)
  const constraints = createConstraints(model.vocabulary)
  // Each row of logits that is wanted holds a number for each token of the vocabulary until the next batch.
  const mostRows = Math.max(3, Math.floor(2 ** 22 / model.vocabulary.size))
  const queue = createSlotQueue<Answering>()
  /** Background work that has no sequence, or no longer. */
  const behind = createSlotQueue<Answering>()
  const background = createBackgroundShare()
  const tenants = createActiveTenants()
  const drafts = howToDraft(model, context, options)
  const longest = options.context
  const batches = createBatches({ context, tenants, batch: options.batch, mostRows, longest, drafts })
  const guessChances = firstChances()
  /** Tokens of guesses that were checked, and those of them that were drawn. */
  const guesses = { checked: 0, right: 0 }
  /** The tokens of texts that constraints leave as the only ones. */
  const spelled = new LRUCache<string, number[]>({
    max: 1024,
    memoMethod: (text) => model.tokenize(text, { special: false, add: false }),
  })
  const { promptCache: bound, disk } = options
  const kept = createKeptPrompts({ context, bound, disk, least: copyFrom, readMs: batches.readMs })
  const requests = new Map<number, Request>()
  const running = new Set<Answering>()
  const adapterTurn = createAdapterTurns()
  let events: [number, GenerationEvent][] = []
  let reported = { running: 0, waiting: 0 }
  let wake = () => {}
  let flushed = 0
  /** Something has begun or ended: that is sent at once. */
  let isUrgent = false
  let isStopped = false
  let batchSince: number | undefined

  /** Takes a generation in, or throws a refusal. Answers the prompt as the model sees it. */
  function add(id: number, generation: Generation): readonly number[] {
    const { tokens, maxTokens, closing, prediction } = checkGeneration(generation, model, options)
    const { vocabulary } = model
    const constraint =
      generation.constraint && constraints.of(generation.constraint.grammar, generation.text.markers)
    const plan = planAnswer({ generation, prompt: tokens, maxTokens, vocabulary, constraint, closing })
    checkFirstToken(plan)
    const isBeam = generation.beam !== undefined
    const wantsPrompt = generation.promptLogprobs !== undefined
    const request: Request = {
      id,
      generation,
      prompt: tokens,
      promptLogprobs: wantsPrompt ? [null] : undefined,
      priority: generation.priority,
      since: performance.now(),
      queuedMs: undefined,
      isShared: !isBeam && generation.choices > 1 && (wantsPrompt || sequences.isWorthCopying(tokens.length)),
      together: isBeam ? generation.choices : 1,
      leader: undefined,
      isRead: false,
      hasBegun: false,
      unfinished: new Set(),
    }
    const proceed = isBeam ? beamSearch(request, plan) : undefined
    for (let index = 0; index < generation.choices; index++) {
      const choice = isBeam ? undefined : createChoice(plan, index)
      const predicted =
        choice && prediction && createPredicted(prediction, choice.tokens, guessChances.predicted)
      const answering: Answering = {
        request,
        isBackground: generation.lane === 'background',
        priority: request.priority,
        tenant: generation.tenant ?? '',
        sequence: undefined,
        cached: 0,
        drawn: undefined,
        again: [],
        drafting: choice && drafts.areWanted ? draftingOf(tokens, choice, predicted) : undefined,
        isIdle: false,
        turn: 0,
        proceed: proceed?.(index) ?? (choice ? answer(choice, predicted, () => answering) : async () => {}),
      }
      request.unfinished.add(answering)
      // The beams of a search enter the queue as one.
      if (!isBeam || index === 0) queueOf(answering).add(answering)
    }
    requests.set(id, request)
    if (generation.lane === undefined) tenants.noteRequest(generation.tenant ?? '')
    wake()
    return tokens
  }

  function draftingOf(prompt: readonly number[], choice: Choice, predicted?: Predicted): Drafting {
    const forced = (most: number) => {
      const text = choice.ahead()
      return text === '' ? [] : spelled.memo(text).slice(0, most)
    }
    return createDrafting(prompt, { tokens: choice.tokens, forced, predicted }, guessChances)
  }

  /** The client has disconnected: it ends before the next batch. */
  function leave(id: number): void {
    const request = requests.get(id)
    if (request === undefined) return
    drop(request)
    wake()
  }

  /** What of it runs is released between two batches. */
  function drop(request: Request): void {
    requests.delete(request.id)
    for (const answering of request.unfinished) queueOf(answering).remove(answering)
  }

  function queueOf({ isBackground }: Answering) {
    return isBackground ? behind : queue
  }

  function isGone({ request }: Answering): boolean {
    return !requests.has(request.id)
  }

  function load(): Load {
    const asked = Array.from(requests.values()).filter(({ generation }) => generation.lane === undefined)
    const waiting = asked.reduce((count, { hasBegun }) => count + (hasBegun ? 0 : 1), 0)
    return {
      running: asked.length - waiting,
      waiting,
      batchMs: batchSince === undefined ? 0 : performance.now() - batchSince,
      promptCache: kept.load,
      drafts: guesses,
    }
  }

  /** Runs until `stop`; rejects when the engine cannot continue. */
  async function run(): Promise<void> {
    let isTried = false
    while (!isStopped) {
      releaseLeft()
      if (!isTried && requests.size > 0) {
        await tryToForget()
        isTried = true
      }
      await admit()
      const doCallersRun = runningOf(false).length > 0
      const since = performance.now()
      const isBehind = background.isTurn(doCallersRun) && (await admitBackground())
      if (!isBehind && !doCallersRun) {
        flush()
        await rest()
        continue
      }
      const parts = isBehind
        ? batches.ofBackground(adapterTurn(runningOf(true)))
        : batches.ofCallers(adapterTurn(runningOf(false).filter(({ isIdle }) => !isIdle)))
      const [first] = parts
      if (first !== undefined) context.adapt(adapterOf(first.answering))
      const decoding = decode(parts)
      // While the native library works on this batch, what the last one brought is sent.
      const onlyWrite = parts.every(({ isPrompt }) => !isPrompt)
      if (!onlyWrite || isUrgent || since - flushed >= flushMs) flush()
      await decoding
      await Promise.all(parts.map(finishPart))
      const ms = performance.now() - since
      batches.took(parts, ms, isBehind)
      if (isBehind) background.backgroundTook(ms)
      else background.callersTook(ms)
    }
    for (const answering of running) release(answering)
    await kept.keepOnDisk(sequences.all, performance.now() + keepAtEndMs)
  }

  /** Some models cannot forget the last tokens alone: nothing that may be wrong can be read by them. Called while no sequence is in use. */
  async function tryToForget(): Promise<void> {
    if (!drafts.isPaired && !drafts.areWanted) return
    const token = model.vocabulary.eos ?? 0
    context.begin(2)
    context.add(0, 0, Uint32Array.of(token, token), Uint32Array.of())
    await context.decode()
    if (!context.forget(0, 1)) Object.assign(drafts, { isPaired: false, areWanted: false })
    context.forget(0, 0)
  }

  /** Until something comes, or until background work may go on that waits for callers to stay away. */
  async function rest(): Promise<void> {
    const hasWork = behind.length > 0 || running.size > 0
    await new Promise<void>((resolve) => {
      const timer = hasWork ? setTimeout(resolve, background.untilAloneMs()) : undefined
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    wake = () => {}
  }

  function runningOf(isBackground: boolean): Answering[] {
    return Array.from(running).filter((one) => one.isBackground === isBackground)
  }

  function stop(): void {
    isStopped = true
    wake()
  }

  function flush(): void {
    flushed = performance.now()
    isUrgent = false
    const { running: now, waiting: atRest } = load()
    const hasChanged = now !== reported.running || atRest !== reported.waiting
    if (events.length === 0 && !hasChanged) return
    reported = { running: now, waiting: atRest }
    listener.happened(events)
    events = []
  }

  function releaseLeft(): void {
    for (const answering of running) if (isGone(answering)) release(answering)
  }

  function release(answering: Answering): void {
    running.delete(answering)
    const { sequence } = answering
    answering.sequence = undefined
    if (sequence === undefined) return
    forgetGuesses(sequence)
    sequences.give(sequence)
  }

  function forgetGuesses(sequence: Sequence): void {
    if (sequence.guessed > 0) context.forget(sequence.id, sequence.tokens.length)
    sequence.guessed = 0
  }

  /** Sequences that callers may take: those that are free, and those of background work. */
  function room(): number {
    return sequences.free() + runningOf(true).length
  }

  /** Background work gives up sequences until so many are free: first those that are read again soonest. */
  function makeRoom(count: number): void {
    const shortest = runningOf(true).sort(
      (one, other) => (one.sequence?.tokens.length ?? 0) - (other.sequence?.tokens.length ?? 0),
    )
    for (const answering of shortest) {
      if (sequences.free() >= count) return
      notePause(answering)
      release(answering)
      behind.add(answering)
    }
  }

  /**
   * Sequences that a tenant may take. While others are active, the last one is for a tenant that runs nothing: long answers of
   * one must not keep out the others until they end.
   */
  function roomFor(tenant: string): number {
    const runs = runningOf(false).some((one) => one.tenant === tenant)
    return room() - (runs && tenants.hasOthers(tenant) ? 1 : 0)
  }

  async function admit(): Promise<void> {
    let held = 0
    for (const answering of queue) {
      const { request } = answering
      if (isGone(answering)) continue
      // Nothing overtakes a search that waits for room, or it would wait for ever.
      if (room() - held < request.together) return
      if (roomFor(answering.tenant) - held < request.together) continue
      // Its prompt is being read by another of its answers, which it will follow; later requests do not get its sequence.
      if (request.isShared && request.leader !== undefined && !request.isRead) held++
      else await begin(answering)
    }
  }

  /** Answers whether background work has a sequence. While callers wait, it begins nothing. */
  async function admitBackground(): Promise<boolean> {
    for (const answering of queue.length > 0 ? [] : behind) {
      const { request } = answering
      if (sequences.free(true) === 0) break
      const follows = request.isShared && request.leader !== undefined && !request.isRead
      if (!follows) await begin(answering)
    }
    return runningOf(true).length > 0
  }

  async function begin(answering: Answering): Promise<void> {
    const { request, isBackground } = answering
    const { prompt } = request
    const salt = keyOf(request.generation)
    if (!isBackground) makeRoom(request.together)
    const remember = request.promptLogprobs === undefined
    const found = remember ? kept.find(prompt, salt, mostRemembered(prompt)) : undefined
    const taken = sequences.take(prompt, salt, remember, { isBackground, elsewhere: found })
    if (taken === undefined) return
    const { sequence, from, shared } = taken
    queueOf(answering).remove(answering)
    await keepWhatIsLost(sequence, from === undefined ? shared : 0)
    if (from === 'elsewhere') await restore(found, sequence)
    else if (from !== undefined) await copy(from, sequence)
    answering.cached = keep(sequence, shared)
    sequence.salt = salt
    start(answering, sequence)
    request.leader ??= answering
    if (request.together === 1) return
    for (const beam of request.unfinished) {
      const other = beam === answering ? undefined : sequences.takeAny()
      if (other === undefined) continue
      await keepWhatIsLost(other)
      beam.isIdle = true
      start(beam, other)
    }
  }

  /** Any sequence for one that continues from the memory of another, where it may have one. */
  function takeAny({ tenant, isBackground }: Answering): Sequence | undefined {
    if (isBackground) return queue.length === 0 ? sequences.takeAny(true) : undefined
    if (roomFor(tenant) < 1) return undefined
    makeRoom(1)
    return sequences.takeAny()
  }

  function start(answering: Answering, sequence: Sequence): void {
    answering.sequence = sequence
    answering.request.hasBegun = true
    running.add(answering)
  }

  async function restore(found: FoundPrompt | undefined, to: Sequence): Promise<void> {
    if (found === undefined) throw new Error('nothing was found to restore')
    await kept.restore(found, to)
  }

  /** Before a sequence is used for something else. */
  async function keepWhatIsLost(sequence: Sequence, stays = 0): Promise<void> {
    await kept.keep(sequence, stays, runningOf(false).length > 0)
  }

  async function copy(from: Sequence, to: Sequence): Promise<void> {
    // The first of several beams that have been read copies before the others have forgotten what was read beside them.
    forgetGuesses(from)
    to.guessed = 0
    await context.copy(from.id, to.id)
    to.tokens = from.tokens.slice()
    to.salt = from.salt
  }

  /** Forgets what comes after the first so many tokens; answers how many are left, for some models cannot forget a part. */
  function keep(sequence: Sequence, count: number): number {
    if (sequence.tokens.length > count) {
      const kept = context.forget(sequence.id, count) ? count : 0
      if (kept !== count) context.forget(sequence.id, 0)
      sequence.tokens.length = kept
    }
    return sequence.tokens.length
  }

  async function decode(parts: Part[]): Promise<void> {
    const since = performance.now()
    batchSince = since
    await context.decode()
    batchSince = undefined
    batches.decoded(parts, performance.now() - since)
  }

  /** After a batch: what was read is remembered, and answers whose tokens have all been read draw the next. */
  async function finishPart(part: Part): Promise<void> {
    const { answering, sequence, tokens, guessed, rows } = part
    const from = sequence.tokens.length
    for (const token of tokens.subarray(0, tokens.length - guessed)) sequence.tokens.push(token)
    sequence.guessed = guessed
    noteRead(answering)
    const { request } = answering
    try {
      if (request.promptLogprobs !== undefined && !request.isRead)
        await addPromptLogprobs(request, from, rows)
      if (isGone(answering) || leftToRead(answering) > 0) return
      if (guessed > 0 || part.isPrompt === false) {
        await check(part)
        return
      }
      const logits = context.logits(rows.at(-1) ?? Number.NaN)
      const others = request.isRead ? [] : await promptIsRead(answering)
      await Promise.all([answering, ...others].map((one) => one.proceed(logits)))
    } catch (error) {
      if (isGone(answering)) return
      drop(request)
      flush()
      listener.refused(request.id, error)
    } finally {
      // Of a sequence that another has by now, there are none left.
      forgetGuesses(sequence)
    }
  }

  /** Draws what comes next, and as long as that is what was guessed, what comes after it. */
  async function check(part: Part): Promise<void> {
    const { answering, sequence, tokens, guessed, rows } = part
    const first = tokens.length - guessed
    guesses.checked += rows.length - 1
    for (const [at, row] of rows.entries()) {
      if (at > 0) {
        const guess = tokens[first + at - 1]
        if (guess === undefined || answering.drawn !== guess || answering.sequence !== sequence) return
        if (isGone(answering)) return
        sequence.tokens.push(guess)
        sequence.guessed--
        guesses.right++
        noteRead(answering)
      }
      await answering.proceed(context.logits(row))
      part.drawn++
    }
  }

  async function promptIsRead(leader: Answering): Promise<Answering[]> {
    const { request, sequence } = leader
    request.isRead = true
    isUrgent ||= !leader.isBackground
    const event: GenerationEvent = { kind: 'prefilled', cachedTokens: leader.cached }
    if (request.queuedMs !== undefined) event.queuedMs = request.queuedMs
    if (request.promptLogprobs !== undefined) event.promptLogprobs = request.promptLogprobs
    events.push([request.id, event])
    if (!request.isShared || sequence === undefined) return []
    const others: Answering[] = []
    for (const other of request.unfinished) {
      if (other.sequence !== undefined) continue
      const free = takeAny(other)
      // Those for whom there is no room come later, and find the prompt remembered.
      if (free === undefined) break
      queueOf(other).remove(other)
      start(other, free)
      others.push(other)
      await keepWhatIsLost(free)
      await copy(sequence, free)
    }
    return others
  }

  async function addPromptLogprobs(
    { prompt, promptLogprobs, generation }: Request,
    from: number,
    rows: Uint32Array,
  ) {
    const entries = await Promise.all(
      Array.from(rows, (row, index) => {
        const token = prompt[from + index + 1]
        if (token === undefined) return undefined
        return promptLogprob(context.logits(row), token, generation.promptLogprobs ?? 0, model.vocabulary)
      }),
    )
    for (const entry of entries) if (entry !== undefined) promptLogprobs?.push(entry)
  }

  function answer(
    choice: Choice,
    predicted: Predicted | undefined,
    own: () => Answering,
  ): Answering['proceed'] {
    return async (logits) => {
      const answering = own()
      const { request } = answering
      const drawn = await choice.next(logits)
      if (isGone(answering)) return
      const { tokens, finished } = choice.accept(drawn)
      predicted?.follow()
      events.push([request.id, tokens])
      answering.drawn = drawn.token
      if (finished === undefined) return
      isUrgent ||= !answering.isBackground
      events.push([request.id, predicted ? { ...finished, prediction: predicted.counts } : finished])
      finish(answering)
    }
  }

  function finish(answering: Answering): void {
    release(answering)
    const { unfinished, id } = answering.request
    unfinished.delete(answering)
    if (unfinished.size === 0) requests.delete(id)
  }

  /** All beams read one token in each batch; when the continuations of the last are known, some beams continue and some become copies. */
  function beamSearch(request: Request, plan: AnswerPlan): (slot: number) => Answering['proceed'] {
    const beams = createBeams(plan)
    let order = [0]
    const found = new Map<number, Continuations>()

    async function advance(): Promise<void> {
      const moves = beams.advance(order.flatMap((slot) => found.get(slot) ?? []))
      found.clear()
      order = moves.map(({ slot }) => slot)
      const all = Array.from(request.unfinished)
      for (const beam of all) beam.isIdle = true
      for (const { slot, from, token } of moves) {
        const beam = all[slot]
        const source = all[from]?.sequence
        if (beam?.sequence === undefined || source === undefined) throw new Error(`there is no beam ${slot}`)
        if (slot !== from) await copy(source, beam.sequence)
        beam.isIdle = false
        beam.drawn = token
      }
      if (moves.length > 0) return
      isUrgent = true
      for (const event of beams.events()) events.push([request.id, event])
      for (const beam of all) finish(beam)
    }

    return (slot) => async (logits) => {
      found.set(slot, await beams.continuations(slot, logits))
      if (found.size === order.length && requests.has(request.id)) await advance()
    }
  }

  return { add, leave, load, run, stop }
}
