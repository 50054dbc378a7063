import type { Caller } from '../../domain/callers.ts'
import type { BackendStatus } from '../../inference/backend.ts'
import type { Model } from '../../inference/model.ts'
import type { ModelList } from '../../inference/registry.ts'
import { version } from '../../version.ts'
import type { GenerationParts } from '../generation/parts.ts'
import type { RunningAnswer, RunningAnswers } from '../generation/running.ts'
import { type EngineAnswer, mostAnswers } from './contract.ts'

const startedAt = new Date(Date.now() - performance.now()).toISOString()

/** A view is shared for this long, because there may be many viewers, each asking once a second. */
const freshMs = 1_000

type Watched = Pick<GenerationParts, 'models' | 'running' | 'recorder'>

/** The state of the models, as this caller may see it. */
export function createEngineView({ models, running, recorder }: Watched): (caller: Caller) => EngineAnswer {
  let seen:
    | {
        at: number
        view: Pick<EngineAnswer, 'server'>
        models: Map<Model, EngineAnswer['models'][number]>
        answers: RunningAnswer[]
      }
    | undefined

  function look(): NonNullable<typeof seen> {
    const at = performance.now()
    if (seen !== undefined && at - seen.at < freshMs) return seen
    const all = running.all()
    // A copy, so that all callers are shown the same moment.
    const answers = all.map((one) => ({ ...one }))
    const view = {
      server: { version, started_at: startedAt, memory_bytes: process.memoryUsage.rss() },
    }
    const shown = new Map(models.all.map((model) => [model, modelShown(model, running)]))
    seen = { at, view, models: shown, answers }
    return seen
  }

  return (caller) => {
    const { view, models: all, answers: asked } = look()
    const own = models.seenBy(caller).flatMap((model) => all.get(model) ?? [])
    const names = new Set(own.flatMap((model) => model.names))
    const answers = own.length === all.size ? asked : asked.filter(({ model }) => names.has(model))
    return {
      ...view,
      models: own,
      list: listShown(models.list?.(), caller),
      answers: answers.slice(0, mostAnswers).map((one) => answerShown(one, caller)),
      answers_in_all: answers.length,
      recording: recorder.modeOf(caller),
    }
  }
}

function modelShown(model: Model, running: RunningAnswers): EngineAnswer['models'][number] {
  const status = model.status()
  const served = model.served()
  const { tokensPerSecond, promptTokens, cachedTokens, completionTokens } = running.of(served?.names[0] ?? '')
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
    prompt_cache: cacheShown(status),
    engine_bytes: (status.state === 'ready' ? status.bytes : undefined) ?? null,
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
  const { read_at, trouble } = list
  return {
    read_at,
    trouble: role === 'admin' || trouble === null ? trouble : 'the file could not be reloaded',
  }
}

function answerShown(
  { user, isBackground, startedAt: at, ...answer }: RunningAnswer,
  { name, role }: Caller,
): EngineAnswer['answers'][number] {
  return {
    ...answer,
    user: role === 'admin' || user === name ? user : null,
    is_background: isBackground,
    started_at: new Date(at).toISOString(),
  }
}
