import { inSteps } from '../../../packages/waiting/index.ts'
import { isObject } from '../../domain/call-facts/brief.ts'
import { type Judgement, judgementIn } from '../../domain/call-facts/judgement.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { jsonList } from '../../domain/json/text.ts'
import { monotonicNow, now } from '../../domain/time.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { type JudgedFeedback, streamJudged } from '../../storage/views/judged-feedback.ts'
import type { FeedbackAggregateBody, GroupName } from './aggregate-contract.ts'
import { tooMany } from './call-usage.ts'

/** Buckets of groups, and names of tags and ratings in all of them, that are added up in memory. */
const maxBuckets = 10_000
const maxNames = 50_000
const reactionType = 'wandb.reaction.1'
const annotationType = 'wandb.annotation.'

const fewer = 'fewer groups, longer buckets, or a filter'

interface Bucket {
  start: number
  group: Record<string, string>
  total_count: number
  scored_count: number
  tags: Map<string, number>
  reactions: Map<string, number>
  ratings: Map<string, { count: number; sum: number }>
}

/** What the record does not know of the span is as it was sent with the feedback. */
const groupValue: Record<
  GroupName,
  (row: JudgedFeedback, sent: (name: string) => string | null) => string | null
> = {
  scorer_id: ({ runnable_ref }) => runnable_ref,
  span_agent_name: ({ agent }, sent) => agent ?? sent('span_agent_name'),
  span_agent_version: ({ agent, agent_version }, sent) =>
    agent === null ? sent('span_agent_version') : agent_version,
  span_prompt_version: ({ prompt_version }) => prompt_version,
  span_status_code: ({ status }, sent) =>
    status === null ? (sent('span_status_code') ?? 'UNSET') : status === 'error' ? 'ERROR' : 'OK',
}

export async function aggregateFeedback(db: BoundDatabase, caller: Caller, body: FeedbackAggregateBody) {
  requireAccess(caller, body.project_id)
  const before = body.before_ms ?? Math.ceil(monotonicNow() / 1000)
  const sums = createSums(body)
  for await (const rows of streamJudged(db, viewIn(body, before), now())) {
    await inSteps(rows, (row) => sums.add(row))
  }
  return {
    time_bucket_seconds: body.time_bucket_seconds ?? null,
    after_ms: body.after_ms,
    before_ms: before,
    buckets: await jsonList(
      sums.all().map(({ start, group, total_count, scored_count, tags, reactions, ratings }) => ({
        ...{ time_bucket_start_ms: start, group, total_count, scored_count },
        tag_counts: Object.fromEntries(tags),
        reaction_counts: Object.fromEntries(reactions),
        rating_counts: Object.fromEntries(Array.from(ratings, ([name, { count }]) => [name, count])),
        rating_sums: Object.fromEntries(Array.from(ratings, ([name, { sum }]) => [name, sum])),
      })),
    ),
  }
}

const viewIn = (body: FeedbackAggregateBody, before: number) => ({
  project: body.project_id,
  start: body.after_ms * 1000,
  end: before * 1000,
  types: body.feedback_types ?? [],
  triggers: body.monitor_ids ?? [],
  scorers: body.scorer_ids ?? [],
  agents: body.span_agent_names ?? [],
  prompts: body.span_prompt_ids ?? [],
  isByPrompt: body.group_by?.includes('span_prompt_version') === true,
  about: (body.span_types ?? []).map((type) =>
    type === 'agent_turn' ? ('root' as const) : ('conversation' as const),
  ),
})

function createSums(body: FeedbackAggregateBody) {
  const { after_ms, time_bucket_seconds, group_by } = body
  const buckets = new Map<string, Bucket>()
  let names = 0

  const bucketOf = (row: JudgedFeedback, sent: (name: string) => string | null): Bucket => {
    const ms = Number(row.created_at) / 1000
    const step = (time_bucket_seconds ?? 0) * 1000
    const start = step === 0 ? after_ms : after_ms + Math.floor((ms - after_ms) / step) * step
    const group = Object.fromEntries(
      (group_by ?? []).map((name) => [name, groupValue[name](row, sent) ?? '']),
    )
    const key = JSON.stringify([start, group])
    const known = buckets.get(key)
    if (known !== undefined) return known
    if (buckets.size === maxBuckets)
      throw tooMany('group_by', `more than ${maxBuckets} buckets of groups`, fewer)
    const fresh = {
      ...{ start, group, total_count: 0, scored_count: 0 },
      ...{ tags: new Map(), reactions: new Map(), ratings: new Map() },
    }
    buckets.set(key, fresh)
    return fresh
  }
  const countName = () => {
    if (++names > maxNames) throw tooMany('group_by', `more than ${maxNames} tags and ratings`, fewer)
  }
  const count = (counts: Map<string, number>, name: string) => {
    if (!counts.has(name)) countName()
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }

  return {
    add(row: JudgedFeedback): void {
      const payload: unknown = JSON.parse(row.payload ?? 'null')
      const judgement = judgementOf(row, payload)
      if (!isAskedFor(judgement, body)) return
      const bucket = bucketOf(row, (name) => textIn(payload, name))
      bucket.total_count++
      if (judgement.tags.length + judgement.ratings.length > 0) bucket.scored_count++
      for (const tag of judgement.tags) count(bucket.tags, tag)
      if (judgement.reaction !== undefined) count(bucket.reactions, judgement.reaction)
      for (const { name, value } of judgement.ratings) {
        const known = bucket.ratings.get(name)
        if (known === undefined) countName()
        bucket.ratings.set(name, { count: (known?.count ?? 0) + 1, sum: (known?.sum ?? 0) + value })
      }
    },
    all: () => [...buckets.values()],
  }
}

function textIn(payload: unknown, name: string): string | null {
  const value = isObject(payload) && Object.hasOwn(payload, name) ? payload[name] : null
  return typeof value === 'string' ? value : null
}

/** The reaction of a person, and the answer to the question of an annotation, which has its name, count as well. */
function judgementOf({ feedback_type }: JudgedFeedback, payload: unknown): Judgement & { reaction?: string } {
  const judgement = judgementIn(payload)
  if (!isObject(payload)) return judgement
  const { detoned, value } = payload
  if (feedback_type === reactionType && typeof detoned === 'string')
    return { ...judgement, reaction: detoned }
  if (!feedback_type.startsWith(annotationType)) return judgement
  const name = feedback_type.slice(annotationType.length)
  const answered = judgementIn({ output: value }).ratings.slice(0, 1)
  return { ...judgement, ratings: [...judgement.ratings, ...answered.map((rating) => ({ ...rating, name }))] }
}

function isAskedFor({ tags, ratings }: Judgement, body: FeedbackAggregateBody): boolean {
  const { rating_min, rating_max } = body
  if (body.tags?.length && !tags.some((tag) => body.tags?.includes(tag))) return false
  if (rating_min == null && rating_max == null) return true
  return ratings.some(({ value }) => value >= (rating_min ?? 0) && value <= (rating_max ?? 1))
}
