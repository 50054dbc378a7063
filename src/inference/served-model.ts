import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Refusal, refuse } from '../domain/refusals.ts'
import type { Backend, BackendStatus } from './backend.ts'
import { inSteps } from './models/download.ts'
import { builtinFolder, findModel, type LocalSource, type ModelLocations } from './models/find.ts'
import { ModelError, withoutFolders } from './models/model-error.ts'
import { type ModelPlan, type ModelSettings, prepareModel } from './models/plan.ts'

export interface ServedModelParts {
  log: Record<'info' | 'warn' | 'error', (values: object, message: string) => void>
  /** Starts the engine that runs a prepared model. */
  startEngine(plan: ModelPlan): Backend
  /** The pause before another attempt after an error that may pass; for tests. */
  pauseMs?: (attempts: number) => number
}

/** Half a minute at first, ten minutes in the end. */
const usualPause = (attempts: number) => Math.min(600_000, 30_000 * 2 ** (attempts - 1))

/**
 * The model of the settings: found or downloaded, checked, and run. The backend exists at once and becomes ready later, so
 * the rest of the server does not wait for it.
 */
export function createServedModel(
  source: LocalSource,
  settings: ModelSettings & ModelLocations,
  { log, startEngine, pauseMs = usualPause }: ServedModelParts,
): Backend {
  const closing = new AbortController()
  let engine: Backend | undefined
  let before: BackendStatus = { state: 'starting', doing: 'looking for the model' }
  const { model } = settings
  // Answers do not show the folders of these files; the log does.
  const hiddenPaths = [builtinFolder, join(settings.data, 'any')]
  if (source.kind === 'file') hiddenPaths.push(source.path, resolve(source.path))

  async function bring(): Promise<void> {
    for (let attempts = 1; !closing.signal.aborted; attempts++) {
      try {
        engine = startEngine(await prepare())
        return
      } catch (error) {
        if (closing.signal.aborted) return
        const reason = error instanceof Error ? error.message : String(error)
        before = { state: 'failed', reason: withoutFolders(reason, ...hiddenPaths) }
        const again = error instanceof ModelError && error.mayPass ? pauseMs(attempts) : undefined
        const unexpected = error instanceof ModelError ? {} : { err: error }
        log.error({ model, ...unexpected, again_in_ms: again }, `the model cannot be served: ${reason}`)
        if (again === undefined) return
        // Rejected when the server stops, which the loop sees.
        await delay(again, undefined, { ref: false, signal: closing.signal }).catch(() => undefined)
      }
    }
  }

  async function prepare(): Promise<ModelPlan> {
    const report = (doing: string) => {
      before = { state: 'starting', doing }
    }
    report('looking for the model')
    let downloading = 'the model'
    const file = await findModel(source, settings, {
      signal: closing.signal,
      onDownload: (what) => {
        downloading = what
      },
      onWait: () => {
        report(`waiting for another process that downloads ${downloading}`)
        log.info({ model }, `another process downloads ${downloading}; waiting for it`)
      },
      onProgress: inSteps(5, (line, { done, total }) => {
        report(`downloading ${downloading}, ${line}`)
        log.info({ model, done, total }, `downloading ${downloading}: ${line}`)
      }),
    })
    report('checking the model')
    const { plan, warnings } = await prepareModel(file, settings, { signal: closing.signal })
    const { names, context, parallel, threads, device, batch } = plan
    log.info({ model, file, names, context, parallel, threads, device, batch }, 'loading the model')
    for (const warning of warnings) log.warn({ model }, warning)
    return plan
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

/** The refusal of requests while no model is ready. */
export function notReady(status: BackendStatus): Refusal {
  const why =
    status.state === 'failed' ? status.reason : status.state === 'starting' ? status.doing : status.state
  return refuse('model_not_ready', { why: why.replace(/\.$/, '') })
}
