import { refuse } from '../../domain/refusals.ts'
import type {
  Backend,
  BackendStatus,
  Generation,
  GenerationEvent,
  Lane,
  Run,
  ServedModel,
} from '../backend.ts'
import { withoutFolders } from '../models/model-error.ts'
import type { ModelPlan } from '../models/plan.ts'
import type { Pooled, PoolingRequest } from '../pooling.ts'
import { notReady } from '../served-model.ts'
import {
  checkBackgroundRoom,
  checkPredictionLength,
  checkQueueRoom,
  checkTextLength,
  mostBackground,
} from './checks.ts'
import type { EngineLogger } from './engine-log.ts'
import { type EngineProcess, startEngineProcess } from './engine-process.ts'
import { createRunEvents, type RunEvents } from './events/run-events.ts'
import { receivedEvent } from './events/sent-events.ts'
import { type Answer, type EngineOptions, keepAtEndMs, type Load, type Question } from './protocol.ts'

/** A backend whose engine is a process of its own: when it dies, what runs in it ends with a refusal, and nothing else. */
export interface EmbeddedBackend extends Backend {
  /** The engine process that runs now. */
  pid(): number | undefined
}

/** How the engine process is watched, and how often it is started again. */
export const usualSupervision = {
  /** Between two pings. */
  pingMs: 1_000,
  /** So many pings without an answer mean that it hangs: an endless loop, or a stopped process. */
  silentPings: 15,
  /** A single batch that takes longer hangs too: the slowest machine needs a fraction of it for one. */
  longestBatchMs: 120_000,
  /** Before the first new start; doubles with each that follows, until an engine has lived for `steadyMs`. */
  restartMs: 250,
  /** After an engine that served: requests wait for the next. */
  longestRestartMs: 5_000,
  /** After one that never got as far: it will hardly be better soon. */
  longestReloadMs: 60_000,
  steadyMs: 30_000,
  /** So many starts in a row that never got the model loaded, and it counts as one that cannot be served. */
  failedStarts: 3,
  /** For the engine to end by itself when it is closed. */
  closeMs: 3_000,
}

export type Supervision = typeof usualSupervision

/** A question that has been sent: its answer comes at once, or it is a run. */
interface Waiting {
  resolve(answer: Answer): void
  /** Before `resolve` or, for a run, after it. */
  fail(error: unknown): void
  /** Takes a place in the queue of the engine. */
  place?: { tenant: string | undefined; lane: Lane | undefined }
  run?: { events: RunEvents; unfinished: number }
  each?(pooled: Pooled): void
}

/** Texts that are turned to tokens, and back, take a moment: so many may wait for it. */
const mostTexts = 256

/** A text that is pooled is one batch, and may be as long as the context. */
const timesLongerText = 5

const idle: Load = { running: 0, waiting: 0, batchMs: 0 }

export function createEmbeddedBackend(
  plan: ModelPlan,
  logger: EngineLogger,
  supervision: Supervision = usualSupervision,
  /** Told when the model is loaded, and when it cannot be. */
  changed: (status: BackendStatus) => void = () => {},
): EmbeddedBackend {
  // Beside all others that write, each two tokens, three of a prompt fit: see planBatch.
  const options: EngineOptions = { ...plan, batch: Math.max(plan.batch, 2 * plan.parallel + 2) }
  const longestBatchMs = supervision.longestBatchMs * (plan.task === 'answers' ? 1 : timesLongerText)
  const asked = new Map<number, Waiting>()
  let ids = 0
  let engine: EngineProcess | undefined
  let status: BackendStatus = { state: 'starting', doing: 'starting the engine' }
  let served: ServedModel | undefined
  let longestToken = 1
  let load = idle
  let bytes: number | undefined
  let unanswered = 0
  let failedStarts = 0
  /** How often in a row an engine has ended before it was steady. */
  let troubles = 0
  let readySince = Number.POSITIVE_INFINITY
  let restart: NodeJS.Timeout | undefined
  let isClosed = false

  const watch = setInterval(look, supervision.pingMs)
  watch.unref()
  start()

  function start(): void {
    restart = undefined
    unanswered = 0
    load = idle
    const started = startEngineProcess(options, logger, (answer) => {
      if (engine === started) hear(answer)
    })
    engine = started
    started.ended.then((reason) => ended(started, reason), fatal)
  }

  /** The log has the path of the model; callers see no more than its name. */
  function shown(reason: string): string {
    return withoutFolders(reason, plan.file)
  }

  /** The watch over the engine must not fail itself: if it does, that is a fault to be seen. */
  function fatal(error: unknown): void {
    logger.error({ err: error }, 'the watch over the engine failed')
  }

  function ended(which: EngineProcess, reason: string): void {
    if (engine !== which) return
    engine = undefined
    load = idle
    const open = Array.from(asked.values())
    asked.clear()
    for (const waiting of open) waiting.fail(refuse('engine_failed', { why: shown(reason) }))
    if (isClosed) return
    const livedMs = performance.now() - readySince
    readySince = Number.POSITIVE_INFINITY
    const hasServed = livedMs >= 0
    failedStarts = hasServed ? 0 : failedStarts + 1
    troubles = livedMs >= supervision.steadyMs ? 0 : troubles + 1
    if (failedStarts >= supervision.failedStarts && status.state !== 'failed') {
      const why = `the engine ends when it loads ${plan.file}: ${reason}`
      status = { state: 'failed', reason: shown(why) }
      logger.error({ model: plan.file }, `the model cannot be served: ${why}`)
      changed(status)
    }
    if (status.state !== 'failed') status = { state: 'starting', doing: 'starting the engine again' }
    const longest = hasServed ? supervision.longestRestartMs : supervision.longestReloadMs
    const delay = Math.min(supervision.restartMs * 2 ** Math.min(troubles - 1, 20), longest)
    logger.error({ reason, requests: open.length, again_in_ms: delay }, 'the engine ended')
    restart = setTimeout(start, delay)
  }

  function hear(answer: Answer): void {
    unanswered = 0
    switch (answer.kind) {
      case 'loading':
        if (status.state === 'starting') {
          status = { state: 'starting', doing: `loading the model, ${Math.floor(answer.share * 100)} %` }
        }
        return
      case 'loaded': {
        const { names, source, context, parallel, threads, device, task, shorter } = plan
        const adapters = plan.adapters.map(({ name }) => name)
        const created = served?.created ?? Math.floor(Date.now() / 1000)
        served = {
          ...{ names, created, source, context, parallel, threads, device, tasks: [task] },
          ...(shorter && { shorter }),
          ...(adapters.length > 0 && { adapters }),
          ...answer.model,
        }
        longestToken = answer.longestToken
        failedStarts = 0
        status = { state: 'ready', running: 0, waiting: 0 }
        readySince = performance.now()
        logger.info({ model: plan.file, engine: engine?.pid }, 'the model is loaded')
        changed(status)
        return
      }
      case 'unloadable':
        // Another start will hardly help, but the file may be exchanged.
        troubles = 20
        status = { state: 'failed', reason: shown(answer.reason) }
        logger.error({ model: plan.file }, `the model cannot be served: ${answer.reason}`)
        changed(status)
        return
      case 'pong':
        load = answer.load
        bytes = answer.bytes
        return
      case 'happened':
        load = answer.load
        for (const [id, event] of answer.events) passOn(id, receivedEvent(event))
        return
      case 'pooled': {
        load = answer.load
        const waiting = asked.get(answer.id)
        if (answer.isLast) asked.delete(answer.id)
        waiting?.each?.(answer.pooled)
        if (answer.isLast) waiting?.resolve(answer)
        return
      }
      case 'refused':
        settle(answer.id, (waiting) => waiting.fail(refuse(answer.code, answer.values)))
        return
      case 'accepted':
        asked.get(answer.id)?.resolve(answer)
        return
      default:
        settle(answer.id, (waiting) => waiting.resolve(answer))
    }
  }

  function settle(id: number, how: (waiting: Waiting) => void): void {
    const waiting = asked.get(id)
    asked.delete(id)
    if (waiting !== undefined) how(waiting)
  }

  function look(): void {
    if (engine === undefined) return
    // While it starts, it reads its own code and the file: it answers late, and no request waits for it yet.
    const mostSilent = status.state === 'ready' ? supervision.silentPings : 4 * supervision.silentPings
    if (unanswered >= mostSilent) {
      engine.kill('it did not answer any more')
      return
    }
    if (load.batchMs > longestBatchMs) {
      engine.kill(`a batch did not end within ${longestBatchMs} ms`)
      return
    }
    unanswered++
    engine.say({ kind: 'ping' })
  }

  function passOn(id: number, event: GenerationEvent): void {
    const run = asked.get(id)?.run
    if (run === undefined) return
    run.events.push(event)
    if (event.kind === 'finished' && --run.unfinished === 0) {
      asked.delete(id)
      run.events.end()
    }
  }

  /** The engine, when it can be asked; throws a refusal otherwise. */
  function readyEngine(): EngineProcess {
    if (isClosed) throw refuse('stopping')
    if (engine === undefined || status.state !== 'ready') throw notReady(status)
    return engine
  }

  /** Asks what is answered at once. */
  async function ask(question: Text, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted()
    const asking = readyEngine()
    if (asked.size >= plan.parallel + plan.queue + mostBackground + mostTexts) {
      throw refuse('engine_queue_full', { limit: mostTexts })
    }
    const id = ++ids
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const leave = () => {
      asked.delete(id)
      reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    asked.set(id, { resolve, fail: reject })
    asking.say({ ...question, id })
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  function checkRoom(tenant: string | undefined, lane: Lane | undefined): void {
    const places = Array.from(asked.values()).flatMap(({ place }) => place ?? [])
    const others = places.filter((place) => place.lane === lane)
    if (lane === 'background') checkBackgroundRoom(others.length)
    else checkQueueRoom(others, tenant, plan)
  }

  async function generate(generation: Generation, signal: AbortSignal): Promise<Run> {
    signal.throwIfAborted()
    const asking = readyEngine()
    checkTextLength(generation, longestToken, plan.context)
    checkPredictionLength(generation, longestToken, plan.context)
    const { tenant, lane } = generation
    checkRoom(tenant, lane)
    const id = ++ids
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const leave = () => {
      asked.delete(id)
      asking.say({ kind: 'leave', id })
      fail(signal.reason)
    }
    const events = createRunEvents({ onLeft: leave, onEnd: () => signal.removeEventListener('abort', leave) })
    const fail = (error: unknown) => {
      reject(error)
      events.end(error)
    }
    signal.addEventListener('abort', leave, { once: true })
    asked.set(id, { resolve, fail, place: { tenant, lane }, run: { events, unfinished: generation.choices } })
    asking.say({ kind: 'generate', id, generation })
    const answer = await promise
    if (answer.kind !== 'accepted') throw new Error(`the engine answered ${answer.kind} to a generation`)
    return { promptTokens: answer.promptTokens, events }
  }

  async function pool(
    request: PoolingRequest,
    each: (pooled: Pooled) => void,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted()
    const asking = readyEngine()
    checkRoom(request.tenant, undefined)
    const id = ++ids
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const leave = () => {
      asked.delete(id)
      asking.say({ kind: 'leave', id })
      reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    asked.set(id, { resolve, fail: reject, place: { tenant: request.tenant, lane: undefined }, each })
    asking.say({ kind: 'pool', id, request })
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  async function close(): Promise<void> {
    if (!isClosed) {
      isClosed = true
      clearInterval(watch)
      clearTimeout(restart)
      for (const waiting of asked.values()) waiting.fail(refuse('stopping'))
      asked.clear()
      engine?.say({ kind: 'close' })
    }
    const closing = engine
    if (closing === undefined) return
    const mostMs = supervision.closeMs + (plan.promptDisk === undefined ? 0 : keepAtEndMs)
    const late = setTimeout(() => closing.kill('it did not end by itself'), mostMs)
    await closing.ended
    clearTimeout(late)
  }

  return {
    pid: () => engine?.pid,
    status: () =>
      status.state === 'ready'
        ? {
            state: 'ready',
            running: load.running,
            waiting: load.waiting,
            ...(bytes !== undefined && { bytes }),
            ...(load.promptCache && { promptCache: load.promptCache }),
            ...(load.drafts && { drafts: load.drafts }),
          }
        : status,
    model: () => served,
    async tokenize(text, options, signal) {
      const answer = await ask({ kind: 'tokenize', text, ...options }, signal)
      if (answer.kind !== 'tokens') throw new Error(`the engine answered ${answer.kind} to a text`)
      return answer.tokens
    },
    async detokenize(tokens, { special }, signal) {
      const answer = await ask({ kind: 'detokenize', tokens, special }, signal)
      if (answer.kind !== 'text') throw new Error(`the engine answered ${answer.kind} to tokens`)
      return answer.text
    },
    generate,
    pool,
    close,
  }
}

type Text =
  | Omit<Extract<Question, { kind: 'tokenize' }>, 'id'>
  | Omit<Extract<Question, { kind: 'detokenize' }>, 'id'>
