import { createConstraints } from '../../constraints/index.ts'
import { checkFirstToken, planAnswer } from '../answer/choice.ts'
import { constraintOf } from '../answer/generation-constraint.ts'
import type { Generation } from '../backend.ts'
import type { NativeContext, NativeModel } from '../native/native.ts'
import { createPromptCache, type DiskCacheOptions } from '../prompt-cache/prompt-cache.ts'
import { promptGroupOf } from '../prompt-group.ts'
import { type EngineOptions, keepAtEndMs, type Load } from '../protocol.ts'
import { createAdmission } from './admission.ts'
import { createAfterBatch } from './after-batch.ts'
import { createAnswers } from './answers.ts'
import { type BatchItem, createBatches } from './batches.ts'
import { checkGeneration } from './checks.ts'
import { createOpenRequests } from './open-requests.ts'
import { createOutbox, type Listener } from './outbox.ts'
import type { Answering, Request } from './request.ts'
import { createSequenceMemory } from './sequence-memory.ts'
import { createSequences } from './sequences.ts'
import { createActiveTenants } from './turns/active-tenants.ts'
import { adapterOf, createAdapterTurns } from './turns/adapter-turns.ts'
import { createBackgroundShare } from './turns/background-share.ts'

export type Loop = ReturnType<typeof createLoop>

/**
 * Runs all sequences together, one batch after the other. Only between two batches are sequences reassigned and their
 * memory removed or copied, so no locks are needed.
 */
export function createLoop(
  model: Pick<NativeModel, 'vocabulary' | 'tokenize'>,
  context: Omit<NativeContext, 'close' | 'save' | 'load'>,
  options: EngineOptions & { disk?: DiskCacheOptions | undefined },
  listener: Listener,
) {
  const { vocabulary } = model
  const copyFrom = 16 + Math.floor(options.context / 128)
  const isLostKept = options.promptCache > 0 && context.bytesOfToken !== undefined
  const sequences = createSequences(options.parallel, copyFrom, { isLostKept })
  const constraints = createConstraints(vocabulary, (text) =>
    model.tokenize(text, { special: false, add: false }),
  )
  // Each wanted row of logits has a number per token of the vocabulary until the next batch.
  const maxRows = Math.max(3, Math.floor(2 ** 22 / vocabulary.size))
  const open = createOpenRequests()
  const { running, behind, runningOf } = open
  const background = createBackgroundShare()
  const tenants = createActiveTenants()
  // On a CPU, plain attention of one row has other last digits than that of several. Answers are promised to repeat to
  // the last digit there, so no row is guessed.
  let isDrafting = options.drafts && (options.gpu !== false || !context.hasPlainAttention)
  const batches = createBatches({
    ...{ context, tenants, batch: options.batch, maxRows, maxTokens: options.context },
    isDrafting: () => isDrafting,
  })
  const { promptCache: bound, disk } = options
  const cache = createPromptCache({ context, bound, disk, least: copyFrom, readMs: batches.readMs })
  const doOthersWrite = () => runningOf(false).length > 0
  const memory = createSequenceMemory({ context, cache, doOthersWrite })
  const admission = createAdmission({ open, sequences, memory, cache, tenants })
  const outbox = createOutbox(listener, open.counts)
  const answersOf = createAnswers({ model, isDrafting: () => isDrafting, open, memory, outbox, finish })
  const afterBatch = createAfterBatch({ vocabulary, context, open, memory, admission, outbox })
  const adapterTurn = createAdapterTurns()
  let wake = () => {}
  let isStopped = false
  let batchSince: number | undefined
  let inBatch: readonly BatchItem[] = []

  /** Accepts a generation, or throws a refusal. Returns the prompt as the model sees it. */
  function add(id: number, generation: Generation): readonly number[] {
    const { tokens, maxTokens, closing, prediction } = checkGeneration(generation, model, options)
    const constraint =
      generation.constraint &&
      constraintOf(constraints, generation.constraint, generation.text.markers, promptGroupOf(generation))
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
    for (const [index, answering] of answersOf(request, plan, prediction).entries()) {
      request.unfinished.add(answering)
      // The beams of a search are one item of the queue.
      if (!isBeam || index === 0) open.queueOf(answering).add(answering)
    }
    open.add(request)
    if (generation.lane === undefined) tenants.noteRequest(generation.tenant ?? '')
    wake()
    return tokens
  }

  /** The client has disconnected: its request ends before the next batch, and with it a batch for no other. */
  function leave(id: number): void {
    const request = open.get(id)
    if (request === undefined) return
    open.drop(request)
    if (inBatch.length > 0 && inBatch.every(({ answering }) => open.isGone(answering))) context.stop()
    wake()
  }

  function finish(answering: Answering): void {
    admission.release(answering)
    open.finished(answering)
  }

  function load(): Load {
    return {
      ...open.counts(),
      batchMs: batchSince === undefined ? 0 : performance.now() - batchSince,
      promptCache: cache.load,
      drafts: afterBatch.guesses,
    }
  }

  /** Runs until `stop`; rejects when the engine cannot continue. */
  async function run(): Promise<void> {
    let isTried = false
    while (!isStopped) {
      admission.releaseLeft()
      if (!isTried && open.size > 0) {
        await checkRemoval()
        isTried = true
      }
      await admission.admit()
      const doCallersRun = runningOf(false).length > 0
      const since = performance.now()
      const isBehind = background.isTurn(doCallersRun) && (await admission.admitBackground())
      if (!isBehind && !doCallersRun) {
        outbox.flush()
        await rest()
        continue
      }
      const items = isBehind
        ? batches.ofBackground(adapterTurn(runningOf(true)))
        : batches.ofCallers(adapterTurn(runningOf(false).filter(({ isIdle }) => !isIdle)))
      const [first] = items
      if (first !== undefined) context.adapt(adapterOf(first.answering))
      const decoding = decode(items)
      const finishing = items.map((item) => afterBatch.finish(item, decoding))
      // While the native library works on this batch, the results of the last one are sent.
      const onlyWrite = items.every(({ isPrompt }) => !isPrompt)
      if (!onlyWrite || outbox.isDue(since)) outbox.flush()
      const [isComputed] = await Promise.all([decoding, ...finishing])
      if (!isComputed) continue
      const ms = performance.now() - since
      batches.took(items, ms, isBehind)
      if (isBehind) background.backgroundTook(ms)
      else background.callersTook(ms)
    }
    for (const answering of running) admission.release(answering)
    await cache.keepOnDisk(sequences.all.filter(memory.isThere), performance.now() + keepAtEndMs)
  }

  /**
   * Some models cannot remove only their last tokens: guesses, which may be wrong, are turned off for them. Called
   * while no sequence is in use.
   */
  async function checkRemoval(): Promise<void> {
    if (!isDrafting) return
    const token = vocabulary.eos ?? 0
    context.begin(2)
    context.add(0, 0, Uint32Array.of(token, token), Uint32Array.of())
    await context.decode()
    isDrafting = context.forget(0, 1)
    context.forget(0, 0)
  }

  /** Waits until there is work, or until background work may resume because callers have stayed away. */
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

  function stop(): void {
    isStopped = true
    context.stop()
    wake()
  }

  /** False when the batch was stopped. */
  async function decode(items: BatchItem[]): Promise<boolean> {
    const since = performance.now()
    batchSince = since
    inBatch = items
    const decoding = context.decode()
    // They may have left, or the server may be stopping, while the batch was prepared.
    if (isStopped || (items.length > 0 && items.every(({ answering }) => open.isGone(answering))))
      context.stop()
    const isComputed = await decoding
    memory.copiesAreMade()
    batchSince = undefined
    inBatch = []
    if (isComputed) batches.decoded(items, performance.now() - since)
    else for (const { sequence } of items) memory.discardUnread(sequence)
    return isComputed
  }

  return { add, leave, load, run, stop }
}
