import { refuse } from '../../domain/refusals.ts'
import type { Backend, BackendStatus, Generation, GenerationEvent, Run, ServedModel } from '../backend.ts'
import { withoutFolders } from '../models/model-error.ts'
import type { ModelPlan } from '../models/plan.ts'
import { notReady } from '../served-model.ts'
import { checkQueueRoom, checkTextLength } from './admission.ts'
import type { EngineLogger } from './engine-log.ts'
import { type EngineProcess, startEngineProcess } from './engine-process.ts'
import type { Answer, EngineOptions, Load, Question } from './protocol.ts'
import { createRunEvents, type RunEvents } from './run-events.ts'
import { type Supervision, usualSupervision } from './supervision.ts'

/** A backend whose engine is a process of its own: when it dies, what runs in it ends with a refusal, and nothing else. */
export interface EmbeddedBackend extends Backend {
  /** The engine process that runs now. */
  pid(): number | undefined
}

/** What somebody waits for: an answer that comes at once, or a run. */
interface Waiting {
  resolve(answer: Answer): void
  /** Before `resolve` or, for a run, after it. */
  fail(error: unknown): void
  run?: { events: RunEvents; unfinished: number; tenant: string | undefined }
}

/** Texts that are turned to tokens, and back, take a moment: so many may wait for it. */
const mostTexts = 256

const idle: Load = { running: 0, waiting: 0, batchMs: 0 }

export function createEmbeddedBackend(
  plan: ModelPlan,
  logger: EngineLogger,
  supervision: Supervision = usualSupervision,
): EmbeddedBackend {
  const options: EngineOptions = {
    file: plan.file,
    context: plan.context,
    parallel: plan.parallel,
    threads: plan.threads,
    gpu: plan.gpu,
    gpuLayers: plan.gpuLayers,
    // Beside all others that write, three tokens of a prompt fit: see planBatch.
    batch: Math.max(plan.batch, plan.parallel + 2),
    queue: plan.queue,
  }
  const asked = new Map<number, Waiting>()
  let ids = 0
  let engine: EngineProcess | undefined
  let status: BackendStatus = { state: 'starting', doing: 'starting the engine' }
  let served: ServedModel | undefined
  let longestToken = 1
  let load = idle
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

  /** The log has where the model lies; who asks is told no more than its name. */
  function shown(reason: string): string {
    return withoutFolders(reason, plan.file)
  }

  /** Whoever watches the engine must not fail itself: if it does, that is a fault to be seen. */
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
      status = { state: 'failed', reason: shown(`the engine ends when it loads ${plan.file}: ${reason}`) }
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
        const { model } = answer
        longestToken = model.longestToken
        failedStarts = 0
        served = {
          names: plan.names,
          created: served?.created ?? Math.floor(Date.now() / 1000),
          source: plan.source,
          context: plan.context,
          parallel: plan.parallel,
          threads: plan.threads,
          device: plan.device,
          vocabulary: model.vocabulary,
          parameters: model.parameters,
          bytes: model.bytes,
          template: model.template,
          tokens: model.tokens,
        }
        status = { state: 'ready', running: 0, waiting: 0 }
        readySince = performance.now()
        logger.info({ model: plan.file, engine: engine?.pid }, 'the model is loaded')
        return
      }
      case 'unloadable':
        // Another start will hardly help, but somebody may exchange the file.
        troubles = 20
        status = { state: 'failed', reason: shown(answer.reason) }
        logger.error({ model: plan.file, reason: answer.reason }, 'the model cannot be loaded')
        return
      case 'pong':
        load = answer.load
        return
      case 'happened':
        load = answer.load
        for (const [id, event] of answer.events) passOn(id, event)
        return
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
    // While it starts, it reads its own code and the file: it answers late, and nobody waits for it yet.
    const patience = status.state === 'ready' ? supervision.silentPings : 4 * supervision.silentPings
    if (unanswered >= patience) {
      engine.kill('it did not answer any more')
      return
    }
    if (load.batchMs > supervision.longestBatchMs) {
      engine.kill(`a batch did not end within ${supervision.longestBatchMs} ms`)
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

  /** Who may ask something: throws a refusal otherwise. */
  function present(): EngineProcess {
    if (isClosed) throw refuse('stopping')
    if (engine === undefined || status.state !== 'ready') throw notReady(status)
    return engine
  }

  /** Asks what is answered at once. */
  async function ask(question: Text, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted()
    const asking = present()
    if (asked.size >= plan.parallel + plan.queue + mostTexts) {
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

  async function generate(generation: Generation, signal: AbortSignal): Promise<Run> {
    signal.throwIfAborted()
    const asking = present()
    checkTextLength(generation, longestToken, plan.context)
    const { tenant } = generation
    checkQueueRoom(
      Array.from(asked.values()).flatMap(({ run }) => run ?? []),
      tenant,
      plan,
    )
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
    asked.set(id, { resolve, fail, run: { events, unfinished: generation.choices, tenant } })
    asking.say({ kind: 'generate', id, generation })
    const answer = await promise
    if (answer.kind !== 'accepted') throw new Error(`the engine answered ${answer.kind} to a generation`)
    return { promptTokens: answer.promptTokens, events }
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
    const late = setTimeout(() => closing.kill('it did not end by itself'), supervision.closeMs)
    await closing.ended
    clearTimeout(late)
  }

  return {
    pid: () => engine?.pid,
    status: () =>
      status.state === 'ready' ? { state: 'ready', running: load.running, waiting: load.waiting } : status,
    model: () => served,
    async tokenize(text, { special, add }, signal) {
      const answer = await ask({ kind: 'tokenize', text, special, add }, signal)
      if (answer.kind !== 'tokens') throw new Error(`the engine answered ${answer.kind} to a text`)
      return answer.tokens
    },
    async detokenize(tokens, { special }, signal) {
      const answer = await ask({ kind: 'detokenize', tokens, special }, signal)
      if (answer.kind !== 'text') throw new Error(`the engine answered ${answer.kind} to tokens`)
      return answer.text
    },
    generate,
    close,
  }
}

type Text =
  | Omit<Extract<Question, { kind: 'tokenize' }>, 'id'>
  | Omit<Extract<Question, { kind: 'detokenize' }>, 'id'>
