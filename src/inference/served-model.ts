import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Refusal, refuse } from '../domain/refusals.ts'
import type { Backend, BackendStatus } from './backend.ts'
import { builtinFolder, findModel, type Places } from './models/find.ts'
import type { ModelPlan } from './models/plan.ts'
import { type ModelSettings, prepareModel } from './models/prepare.ts'
import { inSteps } from './models/progress.ts'
import type { ModelSource } from './models/source.ts'
import { ModelTrouble, withoutFolders } from './models/trouble.ts'

/** As much of a logger as this uses. */
export interface Log {
  info(values: object, message: string): void
  warn(values: object, message: string): void
  error(values: object, message: string): void
}

export interface ServedModelParts {
  places: Places
  log: Log
  /** Makes what runs a model that is there and fits. */
  startEngine(plan: ModelPlan): Backend
  /** Before what may have passed is tried again; for tests. */
  pauseMs?: (attempts: number) => number
}

/** Half a minute at first, ten in the end. */
const usualPause = (attempts: number) => Math.min(600_000, 30_000 * 2 ** (attempts - 1))

/**
 * The model that the settings ask for, from the moment it is asked for: found or downloaded, checked, and run. It is there
 * at once and ready some time later, so that nothing else has to wait for it.
 */
export function createServedModel(
  source: Exclude<ModelSource, { kind: 'none' }>,
  settings: ModelSettings,
  { places, log, startEngine, pauseMs = usualPause }: ServedModelParts,
): Backend {
  const closing = new AbortController()
  let engine: Backend | undefined
  let before: BackendStatus = { state: 'starting', doing: 'looking for the model' }
  const { model } = settings
  // The log names places, answers do not.
  const lying = [builtinFolder, join(places.data, 'any')]
  if (source.kind === 'file') lying.push(source.path, resolve(source.path))

  async function bring(): Promise<void> {
    for (let attempts = 1; !closing.signal.aborted; attempts++) {
      try {
        engine = startEngine(await prepare())
        return
      } catch (error) {
        if (closing.signal.aborted) return
        const reason = error instanceof Error ? error.message : String(error)
        before = { state: 'failed', reason: withoutFolders(reason, ...lying) }
        const again = error instanceof ModelTrouble && error.mayPass ? pauseMs(attempts) : undefined
        const told = error instanceof ModelTrouble ? {} : { err: error }
        log.error({ model, ...told, again_in_ms: again }, `the model cannot be served: ${reason}`)
        if (again === undefined) return
        await pause(again)
      }
    }
  }

  async function prepare(): Promise<ModelPlan> {
    const tell = (doing: string) => {
      before = { state: 'starting', doing }
    }
    tell('looking for the model')
    let downloading = 'the model'
    const file = await findModel(source, places, {
      signal: closing.signal,
      onDownload: (what) => {
        downloading = what
      },
      onWait: () => {
        tell(`waiting for another process that downloads ${downloading}`)
        log.info({ model }, `another process downloads ${downloading}; waiting for it`)
      },
      onProgress: inSteps(5, (line, { done, total }) => {
        tell(`downloading ${downloading}, ${line}`)
        log.info({ model, done, total }, `downloading ${downloading}: ${line}`)
      }),
    })
    tell('checking the model')
    const { plan, header } = await prepareModel(file, settings)
    const { names, context, parallel, threads, batch } = plan
    log.info({ model, file, names, context, parallel, threads, batch }, 'loading the model')
    if (header.template === undefined) {
      log.warn({ model }, 'the model has no chat template: chat requests must bring one')
    }
    return plan
  }

  /** Ends early, and quietly, when the server stops. */
  async function pause(ms: number): Promise<void> {
    await Promise.race([delay(ms, undefined, { ref: false }), aborted(closing.signal)])
  }

  const brought = bring()

  function ready(): Backend {
    if (engine === undefined) throw notReady(before)
    return engine
  }

  return {
    status: () => engine?.status() ?? before,
    model: () => engine?.model(),
    tokenize: async (...given) => ready().tokenize(...given),
    detokenize: async (...given) => ready().detokenize(...given),
    generate: async (...given) => ready().generate(...given),
    async close() {
      closing.abort(new Error('the server stops'))
      await brought
      await engine?.close()
    },
  }
}

/** What a request is told while there is nobody to ask. */
export function notReady(status: BackendStatus): Refusal {
  const why =
    status.state === 'failed' ? status.reason : status.state === 'starting' ? status.doing : status.state
  return refuse('model_not_ready', { why: why.replace(/\.$/, '') })
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
