import { stat } from 'node:fs/promises'
import {
  type BackendStatus,
  createEmbeddedBackend,
  type DeviceSearch,
  type Lane,
  type LocalSource,
  ModelError,
  memoryNeed,
  prepareModel,
  type ServedModel,
  sourceOf,
  totalOf,
  usualSupervision,
  withoutFolders,
} from '../../../packages/engine/index.ts'
import { whenAborted } from '../../../packages/waiting/index.ts'
import { withRefusals } from '../engine-refusals.ts'
import { createLocalModel, type LocalModelParts } from '../local-model.ts'
import type { AnswerEvent, Model } from '../model.ts'
import { notReady, type ObtainParts, obtainModel, type Prepared } from '../served-model.ts'
import { inWordsOf, type LocalEntry, settingsOf } from './entry-settings.ts'
import type { ListedModel, ManySettings } from './listed-model.ts'
import { type Hold, type Loadable, type Loaded, type MemoryUse, statusOf } from './resident.ts'
import type { Room } from './room.ts'

interface OnDemandParts extends LocalModelParts {
  room: Room<Model>
  settings: ManySettings
  bringing: Pick<ObtainParts, 'log' | 'pauseMs'>
  engineLog: Parameters<typeof createEmbeddedBackend>[1]
  supervision?: Parameters<typeof createEmbeddedBackend>[2]
  search: DeviceSearch
  /** How much memory it needs of each kind: some GPUs use the machine's memory. */
  needOf(need: MemoryUse): MemoryUse
}

/** A model of this machine that is loaded by the first request for it, and unloaded when others need its memory. */
export function createOnDemandModel(entry: LocalEntry, services: OnDemandParts): ListedModel {
  const { room, bringing: bringParts, engineLog, supervision = usualSupervision, search, prompts } = services
  const { log } = bringParts
  const settings = settingsOf(entry, services.settings)
  const names = [entry.name, ...(entry.aliases ?? [])]
  const created = Math.floor(Date.now() / 1000)
  const closing = new AbortController()
  let served = unknownModel(names, entry.file, created)
  let hasLoaded = false
  let file: string | undefined
  let prepared: Prepared | undefined
  /** Of the file that was prepared: it may have been replaced since. */
  let stamp = ''

  const prepare: typeof prepareModel = async (path, _settings, { signal } = {}) => {
    stamp = await stampOf(path)
    return prepareModel(path, settings, { ...search, ...(signal && { signal }) }).catch((error: unknown) => {
      throw error instanceof ModelError ? inWordsOf(entry, error) : error
    })
  }

  const bringing = obtainModel(
    sourceOf(entry.file) as LocalSource,
    settings,
    { ...bringParts, prepare, saying: 'the model is available; it is loaded on demand' },
    (path, found) => {
      file = path
      know(found)
      if (entry.preload) resident.preload(closing.signal).catch(() => undefined)
    },
  )

  function know(found: Prepared): void {
    prepared = found
    if (!hasLoaded) served = plannedModel(found, created)
  }

  async function plan(): Promise<Loadable<Model>> {
    if (file === undefined || prepared === undefined) throw new ModelError('it is not downloaded yet')
    if ((await stampOf(file)) !== stamp) know(await prepare(file, settings))
    const { plan: options, header } = prepared
    const { machine, device } = memoryNeed(header, options)
    return {
      need: services.needOf({ machine: totalOf(machine), device: totalOf(device) }),
      open: (signal) => open(options, signal),
    }
  }

  async function open(options: Prepared['plan'], signal: AbortSignal): Promise<Loaded<Model>> {
    const settled = Promise.withResolvers<void>()
    const lost = Promise.withResolvers<string>()
    const changed = (now: BackendStatus) => {
      if (now.state === 'failed') {
        settled.reject(new ModelError(now.reason))
        lost.resolve(now.reason)
      } else settled.resolve()
    }
    const engine = withRefusals(createEmbeddedBackend(options, engineLog, supervision, changed))
    loading = () => engine.status()
    const stay = whenAborted(signal, () => settled.reject(signal.reason))
    try {
      await settled.promise
      signal.throwIfAborted()
    } catch (error) {
      await engine.close()
      throw error instanceof ModelError
        ? new ModelError(withoutFolders(error.message, options.file), { cause: error })
        : error
    } finally {
      loading = undefined
      stay()
    }
    const { log: _, ...quietly } = services
    const model = createLocalModel(engine, hasLoaded ? quietly : services)
    served = engine.model() ?? served
    hasLoaded = true
    return { thing: model, lost: lost.promise, close: () => model.close() }
  }

  let loading: (() => BackendStatus) | undefined
  const resident = room.add(entry.name, plan)

  function statusNow(): BackendStatus {
    if (prepared === undefined) return bringing.status()
    const { state } = resident
    if (state.at === 'in') return state.thing.status()
    if (state.at === 'failed') return { state: 'failed', reason: state.reason }
    return (state.at === 'loading' && loading?.()) || statusOf(state)
  }

  /** Keeps the model loaded while `use` runs. */
  async function using<Result>(
    tenant: string,
    signal: AbortSignal,
    use: (model: Model) => Promise<Result>,
    lane?: Lane,
  ): Promise<Result> {
    const { thing, release } = await held(tenant, lane === 'background', signal)
    try {
      return await use(thing)
    } finally {
      release()
    }
  }

  async function held(tenant: string, isBackground: boolean, signal: AbortSignal): Promise<Hold<Model>> {
    if (prepared === undefined) {
      // A file that was just listed is checked in a moment.
      await bringing.looked
      signal.throwIfAborted()
    }
    if (prepared === undefined) throw notReady(bringing.status())
    return resident.hold({ tenant, isBackground }, signal)
  }

  return {
    status: statusNow,
    served: () => served,
    fallbacks: entry.fallbacks ?? [],
    async format() {
      const { state } = resident
      if (state.at === 'in') return state.thing.format()
      if (served.template === undefined) return undefined
      // Which tokens begin and end a text is only known after loading, and matters little here.
      const tokens = hasLoaded ? served.tokens : { bos: '<s>', eos: '</s>' }
      return prompts.formatOf('', served.template, tokens, closing.signal, 'model')
    },
    load: (tenant, signal) => using(tenant, signal, async () => served),
    async answer(request, signal) {
      const hold = await held(request.tenant, request.lane === 'background', signal)
      const both = hold.signal === undefined ? signal : AbortSignal.any([signal, hold.signal])
      // A reader that never starts is released by the signal.
      const stay = whenAborted(both, hold.release)
      const over = () => {
        stay()
        hold.release()
      }
      try {
        const answering = await hold.thing.answer(request, both)
        return { ...answering, events: releasing(answering.events, over) }
      } catch (error) {
        over()
        throw error
      }
    },
    pool: (asked, each, signal) => using(asked.tenant, signal, (model) => model.pool(asked, each, signal)),
    decide: (asked, read, signal) =>
      using(asked.tenant, signal, (model) => model.decide(asked, read, signal), asked.lane),
    tokenize: (input, tenant, signal) =>
      using(tenant, signal, (model) => model.tokenize(input, tenant, signal)),
    detokenize: (tokens, options, signal) =>
      using(options.tenant, signal, (model) => model.detokenize(tokens, options, signal)),
    isStuck: () => statusNow().state === 'failed',
    async retire() {
      closing.abort(new Error('the model was removed from the list'))
      await bringing.close()
      await resident.retire()
      log.info({ model: entry.name }, 'a model that is no longer in the list has ended')
    },
    async close() {
      closing.abort(new Error('the server is stopping'))
      await bringing.close()
    },
  }
}

async function* releasing(
  events: AsyncIterable<AnswerEvent[]>,
  over: () => void,
): AsyncGenerator<AnswerEvent[]> {
  try {
    yield* events
  } finally {
    over()
  }
}

/** While nothing is known but the entry of the list. */
function unknownModel(names: string[], source: string, created: number): ServedModel {
  return {
    names,
    created,
    source,
    context: 0,
    parallel: 0,
    threads: 0,
    device: 'not known yet',
    vocabulary: 0,
    controlTokens: [],
    parameters: 0,
    bytes: 0,
    template: undefined,
    tokens: { bos: '', eos: '' },
  }
}

/** What is known from its file before it was ever loaded. */
function plannedModel({ plan, header }: Prepared, created: number): ServedModel {
  const { names, source, context, parallel, threads, device, task, shorter, facts } = plan
  return {
    ...unknownModel(names, source, created),
    ...facts,
    tasks: [task],
    ...(shorter && { shorter }),
    ...(plan.adapters.length > 0 && { adapters: plan.adapters.map(({ name }) => name) }),
    context,
    parallel,
    threads,
    device,
    vocabulary: header.vocabulary,
    parameters: header.parameters,
    bytes: header.weightBytes || header.fileBytes,
    template: header.template,
  }
}

async function stampOf(path: string): Promise<string> {
  const { mtimeMs, size, ino } = await stat(path).catch(() => ({ mtimeMs: 0, size: 0, ino: 0 }))
  return `${mtimeMs} ${size} ${ino}`
}
