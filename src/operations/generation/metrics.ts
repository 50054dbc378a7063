import type { Registry } from '@prometheus-io/client'
import type {
  BackendStatus,
  DiskCacheLoad,
  FinishReason,
  PromptCacheLoad,
} from '../../../packages/engine/index.ts'
import { createMeters, type Meters } from '../../http/metrics.ts'
import type { Model } from '../../inference/model.ts'
import type { ModelList, Models } from '../../inference/registry.ts'
import { type PoolingMetrics, registerPoolingMetrics } from '../pooling/metrics.ts'
import { registerUpstreams } from './upstream-metrics.ts'

/** `left`: the client disconnected. `failed`: the engine failed before the end. */
export type Outcome = 'answered' | 'left' | 'failed'

interface EndOfGeneration {
  outcome: Outcome
  /** One for each choice that has ended. */
  finishReasons: FinishReason[]
  /** Of all choices together. */
  completionTokens: number
  /** From the arrival of the request. */
  seconds: number
  /** From the arrival of the request until the prompt was computed; absent if it never was. */
  prefilledSeconds?: number
  /** The requested model, if another answered in its place. */
  insteadOf?: string | undefined
}

export interface PromptCount {
  prompt: number
  cached: number
}

/** What is measured of generations. Times are in seconds from the arrival of the request. */
export interface LaneMetrics {
  /** The prompt has been computed; the engine's queue took `queuedSeconds` of the time. */
  prefilled(seconds: number, queuedSeconds?: number): void
  /** Called once for each prompt, when its tokens are known: for some servers elsewhere, at the end. */
  prompt(tokens: PromptCount): void
  /** Tokens of such a prompt that are only now known to have been cached. */
  cached(tokens: number): void
  firstToken(seconds: number): void
  /** Time between two tokens of one choice. */
  betweenTokens(seconds: number): void
  ended(end: EndOfGeneration): void
}

/** Separate for callers and background work: nobody waits for background work, so its times are not measured. */
export type GenerationMetrics = Record<'callers' | 'background', (model: string) => LaneMetrics> & {
  pooling: PoolingMetrics
}

const long = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]
const short = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
const counts = [1, 8, 32, 128, 512, 2048, 8192, 32_768]

/**
 * The figures that dashboards for vLLM show, under the prefix of this server. Each label has only a handful of values:
 * `model_name` those of the settings.
 */
export function registerGenerationMetrics(registry: Registry, models: Models): GenerationMetrics {
  const meters = createMeters(registry)
  const { readGauge } = meters
  for (const state of ['running', 'waiting'] as const) {
    const help =
      state === 'running'
        ? 'Requests that the engine is running.'
        : 'Requests that are waiting for the engine.'
    readGauge(`num_requests_${state}`, help, ['model_name'], () =>
      models.all.map((model) => {
        const status = model.status()
        return [{ model_name: nameOf(model) }, status.state === 'ready' ? status[state] : 0]
      }),
    )
  }
  readGauge('model_ready', '1 while every model is ready or can be loaded on demand.', [], () => {
    const canBeAsked = ({ state }: BackendStatus) => state === 'ready' || state === 'unloaded'
    return [[{}, models.all.every((model) => canBeAsked(model.status())) ? 1 : 0]]
  })
  registerPromptCache(meters, models)
  registerDrafts(meters, models)
  registerUpstreams(meters, models)
  if (models.list !== undefined) registerLoads(meters, models, models.list)
  const counter = <Label extends string = never>(key: string, help: string, ...labels: Label[]) =>
    meters.counter<Label | 'model_name'>(key, help, 'model_name', ...labels)
  const histogram = (key: string, help: string, buckets = long) =>
    meters.histogram(key, help, buckets, 'model_name')
  const promptTokens = counter('prompt_tokens_total', 'Prompt tokens, computed or found in the cache.')
  const generatedTokens = counter('generation_tokens_total', 'Generated tokens.')
  const queries = counter('prefix_cache_queries_total', 'Prompt tokens that were looked up in the cache.')
  const hits = counter('prefix_cache_hits_total', 'Prompt tokens that were found in the cache.')
  const finished = counter('request_success_total', 'Finished answers, by finish reason.', 'finished_reason')
  const outcomes = counter(
    'completions_total',
    'Completions by outcome: answered, left (the client disconnected), failed.',
    'outcome',
  )
  const fallbacks = counter(
    'fallbacks_total',
    'Completions by a fallback, with the model in whose place it was asked.',
    'instead_of',
  )
  const firstToken = histogram('time_to_first_token_seconds', 'Time from the request to its first token.')
  const between = histogram('inter_token_latency_seconds', 'Time between two tokens of an answer.', short)
  const whole = histogram('e2e_request_latency_seconds', 'Time from the request to the end of its answer.')
  const queued = histogram('request_queue_time_seconds', 'Time in the queue of the engine.')
  const prefill = histogram(
    'request_prefill_time_seconds',
    'Time from leaving the queue to the end of the prompt.',
  )
  const decode = histogram(
    'request_decode_time_seconds',
    'Time from the end of the prompt to the end of the answer.',
  )
  const promptSizes = histogram('request_prompt_tokens', 'Tokens per prompt.', counts)
  const answerSizes = histogram('request_generation_tokens', 'Tokens of all answers to a prompt.', counts)

  const behind = {
    tokens: counter(
      'background_tokens_total',
      'Tokens of background work, in prompts and answers. No other metric counts them.',
      'of',
    ),
    outcomes: counter(
      'background_completions_total',
      'Completions of background work by outcome: answered, left, failed.',
      'outcome',
    ),
  }

  const callers = (model_name: string): LaneMetrics => ({
    prefilled(seconds, queuedSeconds) {
      if (queuedSeconds !== undefined) queued.observe({ model_name }, queuedSeconds)
      prefill.observe({ model_name }, Math.max(0, seconds - (queuedSeconds ?? 0)))
    },
    prompt({ prompt, cached }) {
      promptTokens.inc({ model_name }, prompt)
      queries.inc({ model_name }, prompt)
      hits.inc({ model_name }, cached)
      promptSizes.observe({ model_name }, prompt)
    },
    cached: (tokens) => hits.inc({ model_name }, tokens),
    firstToken: (seconds) => firstToken.observe({ model_name }, seconds),
    betweenTokens: (seconds) => between.observe({ model_name }, seconds),
    ended({ outcome, finishReasons, completionTokens, seconds, prefilledSeconds, insteadOf }) {
      outcomes.inc({ model_name, outcome })
      if (insteadOf !== undefined) fallbacks.inc({ model_name, instead_of: insteadOf })
      for (const reason of finishReasons) finished.inc({ model_name, finished_reason: reason })
      generatedTokens.inc({ model_name }, completionTokens)
      whole.observe({ model_name }, seconds)
      if (prefilledSeconds === undefined) return
      answerSizes.observe({ model_name }, completionTokens)
      decode.observe({ model_name }, Math.max(0, seconds - prefilledSeconds))
    },
  })
  const background = (model_name: string): LaneMetrics => ({
    prefilled() {},
    prompt: ({ prompt }) => behind.tokens.inc({ model_name, of: 'prompts' }, prompt),
    cached() {},
    firstToken() {},
    betweenTokens() {},
    ended({ outcome, completionTokens }) {
      behind.outcomes.inc({ model_name, outcome })
      behind.tokens.inc({ model_name, of: 'answers' }, completionTokens)
    },
  })
  return { callers, background, pooling: registerPoolingMetrics(registry) }
}

const nameOf = (model: Model) => model.served()?.names[0] ?? ''

/** Counts of drafted tokens, under vLLM's names. */
function registerDrafts({ readCounter }: Meters, models: Models): void {
  for (const [name, of, help] of [
    ['draft', 'checked', 'Drafted tokens that were checked.'],
    ['accepted', 'right', 'Drafted tokens that were accepted.'],
  ] as const) {
    readCounter(`spec_decode_num_${name}_tokens_total`, help, ['model_name'], () =>
      models.all.map((model) => {
        const status = model.status()
        return [{ model_name: nameOf(model) }, status.state === 'ready' ? (status.drafts?.[of] ?? 0) : 0]
      }),
    )
  }
}

/** For models that keep prompts after their sequence was needed for another. */
function registerPromptCache({ readGauge, readCounter }: Meters, models: Models): void {
  const loads = () =>
    models.all.flatMap((model) => {
      const status = model.status()
      return status.state === 'ready' && status.promptCache !== undefined ? [status.promptCache] : []
    })
  const sum = (of: Exclude<keyof PromptCacheLoad, 'disk'>) => loads().reduce((all, load) => all + load[of], 0)
  const onDisk = (of: keyof DiskCacheLoad) => loads().reduce((all, { disk }) => all + (disk?.[of] ?? 0), 0)
  readGauge(
    'prompt_cache_bytes',
    'Memory used by prompts that are kept after their sequence was needed for another, and its limit.',
    ['of'],
    () => usedOf(sum('bytes'), sum('bound')),
  )
  readGauge(
    'prompt_cache_prompts',
    'Prompts that are kept after their sequence was needed for another.',
    [],
    () => [[{}, sum('prompts')]],
  )
  readCounter(
    'prompt_cache_events_total',
    'Events of the prompt cache: kept, restored, dropped for other prompts, or skipped because keeping would not pay off.',
    ['event'],
    () => [
      [{ event: 'kept' }, sum('saved')],
      ...(['restored', 'dropped', 'skipped'] as const).map((event) => [{ event }, sum(event)] as const),
    ],
  )
  readGauge(
    'prompt_cache_disk_bytes',
    'Bytes of prompts that are kept on disk, and their limit.',
    ['of'],
    () => usedOf(onDisk('bytes'), onDisk('bound')),
  )
  readCounter(
    'prompt_cache_disk_events_total',
    'Events of the prompt cache on disk: written, restored, removed for other prompts, or failed to be written.',
    ['event'],
    () => (['written', 'restored', 'removed', 'failed'] as const).map((event) => [{ event }, onDisk(event)]),
  )
}

const usedOf = (used: number, bound: number): [{ of: string }, number][] => [
  [{ of: 'used' }, used],
  [{ of: 'bound' }, bound],
]

const states: BackendStatus['state'][] = ['ready', 'unloaded', 'starting', 'failed']

/** The states of the listed models, and how often they were loaded and unloaded. */
function registerLoads({ readGauge, readCounter }: Meters, models: Models, list: () => ModelList): void {
  const help = '1 for the state that a model is in, 0 for the others.'
  readGauge('model_state', help, ['model', 'state'], () =>
    models.all.flatMap((backend): [{ model: string; state: string }, number][] => {
      const model = backend.served()?.names[0]
      if (model === undefined) return []
      const now = backend.status().state
      return states.map((state) => [{ model, state }, state === now ? 1 : 0])
    }),
  )
  const counted = (what: 'loaded' | 'unloaded' | 'failed', name: string, help: string) =>
    readCounter(name, help, ['model'], () =>
      Array.from(list().loads, ([model, counts]) => [{ model }, counts[what]]),
    )
  counted('loaded', 'model_loads_total', 'Number of times that a model was loaded.')
  counted('unloaded', 'model_unloads_total', 'Number of times that a model was unloaded.')
  counted('failed', 'model_load_failures_total', 'Number of times that a model could not be loaded.')
  readGauge('models_memory_bytes', 'Memory planned for the loaded models, and its limit.', ['of'], () => {
    const { used, bound } = list().memory
    return usedOf(used, bound)
  })
}
