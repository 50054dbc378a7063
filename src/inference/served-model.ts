import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Backend,
  type BackendStatus,
  builtinFolder,
  findModel,
  type LocalSource,
  ModelError,
  type ModelLocations,
  type ModelPlan,
  type ModelSettings,
  prepareModel,
  reportedEvery,
  whyNotReady,
  withoutFolders,
} from '../../packages/engine/index.ts'
import { type Refusal, refuse } from '../domain/refusals.ts'

export interface ObtainParts {
  log: Record<'info' | 'warn' | 'error', (values: object, message: string) => void>
  /** The pause before the next attempt after a temporary error; for tests. */
  pauseMs?: (attempts: number) => number
  /** Decides how a file is run. */
  prepare?: typeof prepareModel
  /** The log message for a model that was found. */
  saying?: string
}

interface ServedModelParts extends Omit<ObtainParts, 'prepare' | 'saying'> {
  /** Starts the engine that runs a prepared model. */
  startEngine(plan: ModelPlan): Backend
}

/** A file, examined, and how it is to be run. */
export type Prepared = Awaited<ReturnType<typeof prepareModel>>

/** Half a minute at first, up to ten minutes. */
const usualPause = (attempts: number) => Math.min(600_000, 30_000 * 2 ** (attempts - 1))

/** A model that is being looked for. */
interface Obtaining {
  status(): BackendStatus
  /** Resolves when it is found, cannot be obtained, or must be downloaded, which takes longer than a caller waits. */
  looked: Promise<void>
  close(): Promise<void>
}

/**
 * Finds or downloads the file of a model and checks it, until that has succeeded once. Temporary errors are retried.
 * `found` gets the file and how it is to be run.
 */
export function obtainModel(
  source: LocalSource,
  settings: ModelSettings & ModelLocations,
  { log, pauseMs = usualPause, prepare: check = prepareModel, saying = 'loading the model' }: ObtainParts,
  found: (file: string, prepared: Prepared) => void,
): Obtaining {
  const closing = new AbortController()
  const looked = Promise.withResolvers<void>()
  let before: BackendStatus = { state: 'starting', doing: 'looking for the model' }
  const { model } = settings
  // Answers do not show the folders of these files; the log does.
  const hiddenPaths = [builtinFolder, join(settings.data, 'any')]
  if (source.kind === 'file') hiddenPaths.push(source.path, resolve(source.path))

  async function bring(): Promise<void> {
    for (let attempts = 1; !closing.signal.aborted; attempts++) {
      try {
        found(...(await prepare()))
        return
      } catch (error) {
        if (closing.signal.aborted) return
        const reason = error instanceof Error ? error.message : String(error)
        before = { state: 'failed', reason: withoutFolders(reason, ...hiddenPaths) }
        looked.resolve()
        const again = error instanceof ModelError && error.isTemporary ? pauseMs(attempts) : undefined
        const unexpected = error instanceof ModelError ? {} : { err: error }
        log.error({ model, ...unexpected, again_in_ms: again }, `the model cannot be served: ${reason}`)
        if (again === undefined) return
        // Rejected when the server stops, which the loop notices.
        await delay(again, undefined, { ref: false, signal: closing.signal }).catch(() => undefined)
      }
    }
  }

  async function prepare(): Promise<[string, Prepared]> {
    const report = (doing: string) => {
      before = { state: 'starting', doing }
    }
    report('looking for the model')
    let downloading = 'the model'
    const file = await findModel(source, settings, {
      signal: closing.signal,
      onMissing: looked.resolve,
      onDownload: (what) => {
        downloading = what
      },
      onWait: () => {
        report(`waiting for another process that downloads ${downloading}`)
        log.info({ model }, `another process downloads ${downloading}; waiting for it`)
      },
      onProgress: reportedEvery(5, (line, { done, total }) => {
        report(`downloading ${downloading}, ${line}`)
        log.info({ model, done, total }, `downloading ${downloading}: ${line}`)
      }),
    })
    report('checking the model')
    const prepared = await check(file, settings, { signal: closing.signal })
    const { plan, warnings } = prepared
    const { names, context, parallel, threads, device, batch } = plan
    log.info({ model, file, names, context, parallel, threads, device, batch }, saying)
    for (const warning of warnings) log.warn({ model }, warning)
    return [file, prepared]
  }

  const brought = bring().finally(looked.resolve)
  return {
    status: () => before,
    looked: looked.promise,
    async close() {
      closing.abort(new Error('the server is stopping'))
      await brought
    },
  }
}

/**
 * The model of the settings: found or downloaded, checked, and run. The backend exists at once and becomes ready later,
 * so the rest of the server does not wait for it.
 */
export function createServedModel(
  source: LocalSource,
  settings: ModelSettings & ModelLocations,
  { startEngine, ...services }: ServedModelParts,
): Backend & { looked: Promise<void> } {
  let engine: Backend | undefined
  const bringing = obtainModel(source, settings, services, (_, { plan }) => {
    engine = startEngine(plan)
  })

  function ready(): Backend {
    if (engine === undefined) throw notReady(bringing.status())
    return engine
  }

  return {
    looked: bringing.looked,
    status: () => engine?.status() ?? bringing.status(),
    model: () => engine?.model(),
    tokenize: async (...args) => ready().tokenize(...args),
    detokenize: async (...args) => ready().detokenize(...args),
    generate: async (...args) => ready().generate(...args),
    pool: async (...args) => ready().pool(...args),
    async close() {
      await bringing.close()
      await engine?.close()
    },
  }
}

/** The refusal of requests while no model is ready. */
export function notReady(status: BackendStatus): Refusal {
  return refuse('model_not_ready', { why: whyNotReady(status) })
}
