import type { z } from 'zod'
import type { Expression } from '../../packages/filter/index.ts'
import type { BucketsAnswer, groupField } from '../../src/operations/views/contract.ts'
import type { FeedbackBucketsAnswer } from '../../src/operations/views/feedback-contract.ts'
import { requestJson } from './request.ts'

export type Buckets = z.output<typeof BucketsAnswer>
export type Bucket = Buckets['buckets'][number]
export type GroupField = z.output<typeof groupField>
export type Timed = 'latency' | 'first_token'

/** Calls over time. */
export interface ChartView {
  project: string
  roots: boolean
  query: Expression | undefined
  after: Date
  before: Date
  stepSeconds: number
  by: GroupField | undefined
}

export function readBuckets(view: ChartView, timed: Timed, signal: AbortSignal): Promise<Buckets> {
  const { project, roots, query, after, before, stepSeconds, by } = view
  const body = {
    project_id: project,
    filter: { trace_roots_only: roots },
    ...(query && { query: { $expr: query } }),
    after: after.toISOString(),
    before: before.toISOString(),
    step_seconds: stepSeconds,
    ...(by && { by }),
    timed,
    costs: timed === 'latency',
  }
  return requestJson('/views/buckets', { body, signal })
}

export type FeedbackBuckets = z.output<typeof FeedbackBucketsAnswer>

/** Feedback on calls of any depth; under a filter, on those that match it. */
export function readFeedbackBuckets(view: ChartView, signal: AbortSignal): Promise<FeedbackBuckets> {
  const { project, query, after, before, stepSeconds } = view
  const body = {
    project_id: project,
    ...(query && { query: { $expr: query } }),
    after: after.toISOString(),
    before: before.toISOString(),
    step_seconds: stepSeconds,
  }
  return requestJson('/views/feedback_buckets', { body, signal })
}
