import type { BackendStatus, ServedModel } from '../backend.ts'
import { type EngineError, engineError } from '../errors.ts'
import { withoutFolders } from '../models/model-error.ts'
import type { ModelPlan } from '../models/plan.ts'
import { type Answer, type EngineOptions, keepAtEndMs, type Load } from '../protocol.ts'
import type { EngineLogger } from './engine-log.ts'
import { type EngineProcess, startEngineProcess } from './engine-process.ts'
import type { AnswerToQuestion } from './questions.ts'

/** How the engine process is watched, and how often it is restarted. */
export const usualSupervision = {
  /** Between two pings. */
  pingMs: 1_000,
  /** So many unanswered pings mean that it hangs: an endless loop, or a stopped process. */
  silentPings: 15,
  /** A single batch that takes longer counts as a hang, too: the slowest machine needs a fraction of this. */
  maxBatchMs: 120_000,
  /** Before the first restart; doubles with each further one, until an engine has lived for `steadyMs`. */
  restartMs: 250,
  /** After an engine that served: requests wait for the next one. */
  maxRestartMs: 5_000,
  /** After one that never loaded the model: another attempt will hardly succeed soon. */
  maxReloadMs: 60_000,
  steadyMs: 30_000,
  /** After so many starts in a row without a loaded model, the model counts as one that cannot be served. */
  failedStarts: 3,
  /** Time for the engine to end by itself when it is closed. */
  closeMs: 3_000,
}

export type Supervision = typeof usualSupervision

/** A text that is pooled is one batch, and may be as long as the context. */
const timesLongerText = 5

const idle: Load = { running: 0, waiting: 0, batchMs: 0 }

interface Supervised {
  plan: ModelPlan
  logger: EngineLogger
  supervision: Supervision
  /** Called when the model is loaded, and when it cannot be. */
  changed(status: BackendStatus): void
  answered(answer: AnswerToQuestion): void
  /** Fails all open questions; returns how many. */
  lost(why: () => EngineError): number
}

/** In words that can follow a colon. */
export function whyNotReady(status: BackendStatus): string {
  const why =
    status.state === 'failed'
      ? status.reason
      : status.state === 'starting'
        ? status.doing
        : status.state === 'unloaded'
          ? 'it is not loaded'
          : status.state
  return why.replace(/\.$/, '')
}

/** Starts the engine process, watches it, kills it when it hangs, and restarts it. */
export function superviseEngine({ plan, logger, supervision, changed, answered, lost }: Supervised) {
  // Room for two tokens of each other writer, and three of a prompt: see planBatch.
  const options: EngineOptions = { ...plan, batch: Math.max(plan.batch, 2 * plan.parallel + 2) }
  const maxBatchMs = supervision.maxBatchMs * (plan.task === 'answers' ? 1 : timesLongerText)
  let engine: EngineProcess | undefined
  let status: BackendStatus = { state: 'starting', doing: 'starting the engine' }
  let served: ServedModel | undefined
  let maxTokenSize = 1
  let load = idle
  let bytes: number | undefined
  let unanswered = 0
  let failedStarts = 0
  /** How many engines in a row have ended before they were steady. */
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

  /** The log has the path of the model; callers see only its name. */
  function shown(reason: string): string {
    return withoutFolders(reason, plan.file)
  }

  /** The supervision itself must not fail: if it does, that is a fault to be seen. */
  function fatal(error: unknown): void {
    logger.error({ err: error }, 'watching the engine failed')
  }

  function ended(which: EngineProcess, reason: string): void {
    if (engine !== which) return
    engine = undefined
    load = idle
    const requests = lost(() => engineError('engine_failed', { why: shown(reason) }))
    if (isClosed) return
    const livedMs = performance.now() - readySince
    readySince = Number.POSITIVE_INFINITY
    const hasServed = livedMs >= 0
    failedStarts = hasServed ? 0 : failedStarts + 1
    troubles = livedMs >= supervision.steadyMs ? 0 : troubles + 1
    if (failedStarts >= supervision.failedStarts && status.state !== 'failed') {
      unservable(`the engine ended while loading ${plan.file}: ${reason}`)
    }
    if (status.state !== 'failed') status = { state: 'starting', doing: 'starting the engine again' }
    const longest = hasServed ? supervision.maxRestartMs : supervision.maxReloadMs
    const delay = Math.min(supervision.restartMs * 2 ** Math.min(troubles - 1, 20), longest)
    logger.error({ reason, requests, again_in_ms: delay }, 'the engine ended')
    restart = setTimeout(start, delay)
  }

  function unservable(why: string): void {
    status = { state: 'failed', reason: shown(why) }
    logger.error({ model: plan.file }, `the model cannot be served: ${why}`)
    changed(status)
  }

  function hear(answer: Answer): void {
    unanswered = 0
    if ('load' in answer) load = answer.load
    switch (answer.kind) {
      case 'loading':
        if (status.state === 'starting') {
          status = { state: 'starting', doing: `loading the model, ${Math.floor(answer.share * 100)} %` }
        }
        return
      case 'loaded':
        loaded(answer)
        return
      case 'unloadable':
        // Another start will hardly help, but the file may be replaced.
        troubles = 20
        unservable(answer.reason)
        return
      case 'pong':
        bytes = answer.bytes
        return
      default:
        answered(answer)
    }
  }

  function loaded(answer: Extract<Answer, { kind: 'loaded' }>): void {
    const { names, source, context, parallel, threads, device, task, shorter, facts } = plan
    const adapters = plan.adapters.map(({ name }) => name)
    const created = served?.created ?? Math.floor(Date.now() / 1000)
    served = {
      ...{ names, created, source, context, parallel, threads, device, tasks: [task], ...facts },
      ...(shorter && { shorter }),
      ...(adapters.length > 0 && { adapters }),
      ...answer.model,
    }
    maxTokenSize = answer.maxTokenSize
    failedStarts = 0
    status = { state: 'ready', running: 0, waiting: 0 }
    readySince = performance.now()
    logger.info({ model: plan.file, engine: engine?.pid }, 'the model is loaded')
    changed(status)
  }

  function look(): void {
    if (engine === undefined) return
    // While it starts, it reads its code and the model file: it answers late, and no request waits for it yet.
    const maxSilent = status.state === 'ready' ? supervision.silentPings : 4 * supervision.silentPings
    if (unanswered >= maxSilent) {
      engine.kill('it stopped answering')
      return
    }
    if (load.batchMs > maxBatchMs) {
      engine.kill(`a batch did not end within ${maxBatchMs} ms`)
      return
    }
    unanswered++
    engine.say({ kind: 'ping' })
  }

  return {
    pid: () => engine?.pid,
    model: () => served,
    /** The most bytes that one token of the model stands for. */
    maxTokenSize: () => maxTokenSize,
    status: (): BackendStatus =>
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
    /** The engine, if it is ready; throws a refusal otherwise. */
    ready(): EngineProcess {
      if (isClosed) throw engineError('stopping', {})
      if (engine === undefined || status.state !== 'ready')
        throw engineError('model_not_ready', { why: whyNotReady(status) })
      return engine
    },
    async close(): Promise<void> {
      if (!isClosed) {
        isClosed = true
        clearInterval(watch)
        clearTimeout(restart)
        lost(() => engineError('stopping', {}))
        engine?.say({ kind: 'close' })
      }
      const closing = engine
      if (closing === undefined) return
      const maxCloseMs = supervision.closeMs + (plan.promptDisk === undefined ? 0 : keepAtEndMs)
      const late = setTimeout(() => closing.kill('it did not end by itself'), maxCloseMs)
      await closing.ended
      clearTimeout(late)
    },
  }
}
