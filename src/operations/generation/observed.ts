import type { FinishReason } from '../../../packages/engine/index.ts'
import type { TokenCount } from '../../domain/money.ts'
import { Refusal } from '../../domain/refusals.ts'
import { hasLeft } from '../../http/disconnect.ts'
import type { ModelAnswer } from '../../http/traces/spans.ts'
import type { AnswerEvent, Answering, ReportedUsage } from '../../inference/model.ts'
import type { LaneMetrics, Outcome, PromptCount } from './metrics.ts'
import type { AnswerTimes } from './request-metrics.ts'
import type { RunningAnswers } from './running.ts'

/** What the log keeps of a generation: none of its text. */
export interface GenerationRecord extends ModelAnswer {
  /** The requested model, if another answered in its place. */
  instead_of?: string
  outcome: Outcome
  /** In dollars, if the server behind the model reports it. */
  cost?: number
  finish_reasons: FinishReason[]
}

/** Of an answer that has not begun. */
export const newRecord = (model: string): GenerationRecord => ({
  model,
  outcome: 'left',
  prompt_tokens: 0,
  cached_tokens: 0,
  completion_tokens: 0,
  finish_reasons: [],
  total_ms: 0,
})

/** Unless the client has left, which is no failure. */
export function noteFailure(record: GenerationRecord, error: unknown, signal: AbortSignal): void {
  if (hasLeft(signal)) return
  record.outcome = 'failed'
  record.code = error instanceof Refusal ? error.code : 'internal_error'
}

interface Observation {
  arrived: number
  model: string
  insteadOf: string | undefined
  user: string
  isBackground: boolean
  running: RunningAnswers
  metrics: LaneMetrics
  /** Filled in as the events pass. */
  times: AnswerTimes
  signal: AbortSignal
  note(record: GenerationRecord): void
  charge(tokens: TokenCount): void
}

/** Yields `made` of each group of events, and measures the events as they pass. */
export async function* observed<Made>(
  { events, prompts, usage }: Answering,
  made: (group: AnswerEvent[]) => Made,
  {
    arrived,
    model,
    insteadOf,
    user,
    isBackground,
    running,
    metrics,
    times,
    signal,
    note,
    charge,
  }: Observation,
): AsyncGenerator<Made> {
  const since = () => performance.now() - arrived
  const record: GenerationRecord = {
    ...newRecord(model),
    ...(insteadOf !== undefined && { instead_of: insteadOf }),
    prompt_tokens: prompts.reduce((sum, { length }) => sum + length, 0),
  }
  const last = new Map<number, number>()
  const answer = running.begin({ model, user, isBackground })
  /** Tokens of prompts that have been charged to the caller. */
  let charged = 0
  /** Prompts of which a server elsewhere has not yet told the tokens. */
  let uncounted = 0

  function pass(event: AnswerEvent, now: number): void {
    if (event.kind === 'prefilled') {
      record.cached_tokens += event.cachedTokens
      record.prefilled_ms ??= now
      const { length: read } = prompts[event.input] ?? []
      charged += read
      charge({ prompt: read, completion: 0 })
      running.read(answer, { prompt: read, cached: event.cachedTokens })
      const queued = event.queuedMs === undefined ? undefined : event.queuedMs / 1000
      metrics.prefilled(now / 1000, queued)
      if (event.queuedMs !== undefined) times.queued ??= event.queuedMs
      if (usage !== undefined && read === 0) uncounted++
      else metrics.prompt({ prompt: read, cached: event.cachedTokens })
    } else if (event.kind === 'tokens' || event.kind === 'said') {
      if (record.first_token_ms === undefined) {
        record.first_token_ms = now
        metrics.firstToken(now / 1000)
      }
      times.first ??= now
      times.last = now
      const before = last.get(event.choice)
      const count = event.kind === 'said' ? event.count : event.tokens.length
      if (before !== undefined && count > 0) {
        // Several tokens that came at once are taken to have come at even distances.
        for (let i = 0; i < count; i++) metrics.betweenTokens((now - before) / count / 1000)
      }
      last.set(event.choice, now)
      record.completion_tokens += count
      times.tokens += count
    } else record.finish_reasons.push(event.reason)
  }

  /** A remote server's own counts are known only at the end. */
  function correct({ prompt, cached, completion, cost }: ReportedUsage): void {
    charge({ prompt: prompt - charged, completion: completion - record.completion_tokens })
    const missed = { prompt: prompt - charged, cached: cached - record.cached_tokens }
    if (uncounted > 0) for (const tokens of shares(missed, uncounted)) metrics.prompt(tokens)
    else if (missed.cached > 0) metrics.cached(missed.cached)
    running.read(answer, missed)
    running.wrote(answer, completion - record.completion_tokens)
    times.tokens = completion
    Object.assign(record, { prompt_tokens: prompt, cached_tokens: cached, completion_tokens: completion })
    if (cost !== undefined) record.cost = cost
  }

  try {
    for await (const group of events) {
      const now = since()
      const before = record.completion_tokens
      for (const event of group) pass(event, now)
      const completion = record.completion_tokens - before
      if (completion > 0) {
        charge({ prompt: 0, completion })
        running.wrote(answer, completion)
      }
      yield made(group)
    }
    record.outcome = 'answered'
  } catch (error) {
    noteFailure(record, error, signal)
    throw error
  } finally {
    running.end(answer)
    record.total_ms = since()
    if (usage !== undefined) correct(usage())
    metrics.ended({
      outcome: record.outcome,
      finishReasons: record.finish_reasons,
      completionTokens: record.completion_tokens,
      seconds: record.total_ms / 1000,
      insteadOf,
      ...(record.prefilled_ms !== undefined && { prefilledSeconds: record.prefilled_ms / 1000 }),
    })
    note(record)
  }
}

/** A server elsewhere reports the tokens of all prompts of a request together. */
function* shares({ prompt, cached }: PromptCount, count: number): Generator<PromptCount> {
  const share = (total: number, index: number) =>
    Math.floor((Math.max(0, total) * (index + 1)) / count) - Math.floor((Math.max(0, total) * index) / count)
  for (let index = 0; index < count; index++)
    yield { prompt: share(prompt, index), cached: share(cached, index) }
}
