import type { BackendStatus, ServedModel } from '../../../packages/engine/index.ts'
import type { Caller } from '../../domain/callers.ts'
import type { Model } from '../../inference/model.ts'
import type { ModelList } from '../../inference/registry.ts'
import { version } from '../../version.ts'
import type { GenerationParts } from '../generation/parts.ts'
import type { RunningAnswer, RunningAnswers } from '../generation/running.ts'
import { type Operation, operation } from '../parts.ts'
import { EngineAnswer, LoadAnswer, maxAnswers } from './contract.ts'

export const engineRoutes: Operation = async (app, services) => {
  const view = createEngineView(services)
  const read = operation('GET', '/views/engine', {
    right: 'own',
    summary: 'Read the current state of the models',
    tags: ['models'],
    answer: EngineAnswer,
    rule: (_, { caller }) => view(caller),
  })
  const load = operation('GET', '/load', {
    right: 'own',
    summary: 'Count the answers that are running',
    tags: ['models'],
    answer: LoadAnswer,
    rule: ({ running }) => ({ server_load: running.all().length }),
  })
  await read(app, services)
  await load(app, services)
}

const startedAt = new Date(Date.now() - performance.now()).toISOString()

/** A view is shared for this long, because there may be many viewers, each asking once a second. */
const freshMs = 1_000

type Watched = Pick<GenerationParts, 'models' | 'running' | 'recorder'>

/** The state of the models, as this caller may see it. */
function createEngineView({ models, running, recorder }: Watched): (caller: Caller) => EngineAnswer {
  let seen:
    | {
        at: number
        memoryBytes: number
        models: Map<Model, ModelState>
        answers: RunningAnswer[]
      }
    | undefined

  function look(): NonNullable<typeof seen> {
    const at = performance.now()
    if (seen !== undefined && at - seen.at < freshMs) return seen
    const all = running.all()
    // A copy, so that all callers are shown the same moment.
    const answers = all.map((answer) => ({ ...answer }))
    const states = models.all.map(
      (model) => [model, { status: model.status(), served: model.served() }] as const,
    )
    seen = { at, memoryBytes: process.memoryUsage.rss(), models: new Map(states), answers }
    return seen
  }

  return (caller) => {
    const { memoryBytes, models: all, answers: asked } = look()
    const isAdmin = caller.role === 'admin'
    const states = models.seenBy(caller).flatMap((model) => all.get(model) ?? [])
    const names = new Set(states.flatMap(({ served }) => served?.names ?? []))
    const isSeen = ({ model, user }: RunningAnswer) =>
      isAdmin ? states.length === all.size || names.has(model) : user === caller.name
    const answers = asked.filter(isSeen)
    return {
      server: { version, started_at: startedAt, memory_bytes: isAdmin ? memoryBytes : null },
      models: states.map((state) => modelShown(state, running, caller)),
      list: listShown(models.list?.(), caller),
      answers: answers.slice(0, maxAnswers).map(answerShown),
      answers_in_all: answers.length,
      recording: recorder.modeOf(caller),
    }
  }
}

interface ModelState {
  status: BackendStatus
  served: ServedModel | undefined
}

/** A member sees how busy a model is, and its own part in that: the sums of all would show the texts of others. */
function modelShown(
  { status, served }: ModelState,
  running: RunningAnswers,
  { name, role }: Caller,
): EngineAnswer['models'][number] {
  const isAdmin = role === 'admin'
  const { tokensPerSecond, promptTokens, cachedTokens, completionTokens } = running.of(
    served?.names[0] ?? '',
    isAdmin ? undefined : name,
  )
  return {
    names: served?.names ?? [],
    tasks: served === undefined ? [] : [...(served.tasks ?? ['answers'])],
    state: status.state,
    doing: status.state === 'starting' ? status.doing : status.state === 'failed' ? status.reason : null,
    card: served
      ? {
          context: served.context,
          device: served.device,
          threads: served.threads,
          parameters: served.parameters,
          vocabulary: served.vocabulary,
          model_bytes: served.bytes,
          created: served.created,
        }
      : null,
    slots:
      served && served.parent === undefined && status.state === 'ready'
        ? { total: served.parallel, running: status.running, waiting: status.waiting }
        : null,
    tokens_per_second: tokensPerSecond,
    prompt_tokens: promptTokens,
    cached_tokens: cachedTokens,
    completion_tokens: completionTokens,
    prompt_cache: isAdmin ? cacheShown(status) : null,
    engine_bytes: (isAdmin && status.state === 'ready' ? status.bytes : undefined) ?? null,
  }
}

function cacheShown(status: BackendStatus): EngineAnswer['models'][number]['prompt_cache'] {
  const cache = status.state === 'ready' ? status.promptCache : undefined
  if (cache === undefined || (cache.bound === 0 && cache.disk === undefined)) return null
  const { prompts, bytes, bound, restored, dropped, disk } = cache
  return {
    ...{ prompts, bytes, bound, restored, dropped },
    disk: disk ? { prompts: disk.prompts, bytes: disk.bytes, bound: disk.bound, failed: disk.failed } : null,
  }
}

/** Only an admin is shown what is wrong with the file, because the message may quote its content. */
function listShown(list: ModelList | undefined, { role }: Caller): EngineAnswer['list'] {
  if (list === undefined) return null
  const { read_at, fault } = list
  return {
    read_at,
    fault: role === 'admin' || fault === null ? fault : 'the file could not be reloaded',
  }
}

function answerShown({
  isBackground,
  startedAt: at,
  ...answer
}: RunningAnswer): EngineAnswer['answers'][number] {
  return { ...answer, is_background: isBackground, started_at: new Date(at).toISOString() }
}
