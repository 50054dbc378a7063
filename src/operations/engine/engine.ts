import type { Caller } from '../../domain/callers.ts'
import type { Model } from '../../inference/model.ts'
import { version } from '../../version.ts'
import type { GenerationParts } from '../generation/parts.ts'
import type { RunningAnswer, RunningAnswers } from '../generation/running.ts'
import { type EngineAnswer, mostAnswers } from './contract.ts'

const startedAt = new Date(Date.now() - performance.now()).toISOString()

/** Many may watch it, each once a second. */
const freshMs = 1_000

type Watched = Pick<GenerationParts, 'models' | 'running' | 'recorder'>

/** How the models are doing, as this caller may see it. */
export function createEngineView({ models, running, recorder }: Watched): (caller: Caller) => EngineAnswer {
  let seen:
    | { at: number; view: Omit<EngineAnswer, 'answers' | 'recording'>; answers: RunningAnswer[] }
    | undefined

  function look(): NonNullable<typeof seen> {
    const at = performance.now()
    if (seen !== undefined && at - seen.at < freshMs) return seen
    const all = running.all()
    // What is shown is of one moment, whoever asks for it.
    const answers = all.slice(0, mostAnswers).map((one) => ({ ...one }))
    const view = {
      models: models.all.map((model) => modelShown(model, running)),
      answers_in_all: all.length,
      server: { version, started_at: startedAt, memory_bytes: process.memoryUsage.rss() },
    }
    seen = { at, view, answers }
    return seen
  }

  return (caller) => {
    const { view, answers } = look()
    return {
      ...view,
      answers: answers.map((one) => answerShown(one, caller)),
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
    state: status.state,
    doing: status.state === 'ready' ? null : status.state === 'starting' ? status.doing : status.reason,
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
      served && status.state === 'ready'
        ? { total: served.parallel, running: status.running, waiting: status.waiting }
        : null,
    tokens_per_second: tokensPerSecond,
    prompt_tokens: promptTokens,
    cached_tokens: cachedTokens,
    completion_tokens: completionTokens,
    engine_bytes: (status.state === 'ready' ? status.bytes : undefined) ?? null,
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
