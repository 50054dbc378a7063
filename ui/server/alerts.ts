import type { Measure, severities, Watched } from '../../src/domain/alerts.ts'
import { requestJson } from './request.ts'

export const severityTexts: Record<(typeof severities)[number], string> = {
  critical: 'critical',
  error: 'error',
  warning: 'warning',
  info: 'info',
}

export const watchedTexts: Record<Watched, string> = {
  call: 'a call that ends',
  score: 'a score',
  decision: 'a typed decision',
  queue: 'a queue',
  budget: 'a budget',
  window: 'a figure over time',
}

export const measureTexts: Record<Measure, string> = {
  calls: 'calls',
  errors: 'failed calls',
  error_rate: 'share of failed calls',
  latency_avg_ms: 'mean latency, ms',
  latency_p50_ms: 'median latency, ms',
  latency_p95_ms: '95th percentile of latency, ms',
  latency_p99_ms: '99th percentile of latency, ms',
  tokens: 'tokens',
  cost: 'cost',
  score_avg: 'mean score',
}

interface Bounds {
  scorer?: string | null | undefined
  path?: string | null | undefined
  below?: number | null | undefined
  above?: number | null | undefined
}

/** When a rule fires. */
export interface Condition {
  on: Watched
  filter?: unknown
  query?: unknown
  score?: Bounds | null
  decision?: {
    question?: string | null | undefined
    answer?: string | null | undefined
    below?: number | null | undefined
    above?: number | null | undefined
  } | null
  queue?: { queue_id?: string | null | undefined; waiting: number } | null
  budget?: { share: number } | null
  window?: (Bounds & { measure: Measure; seconds: number; min_count?: number | undefined }) | null
  cooldown_seconds?: number | undefined
}

export interface AlertRule extends Condition {
  id: string
  name: string
  severity: keyof typeof severityTexts
  cooldown_seconds: number
  /** Null: all. */
  endpoint_ids: string[] | null
  active: boolean
  /** Whether the last window met the condition. */
  firing: boolean
  /** Matches since the last message, which the cool-down holds back. */
  suppressed: number
}

interface Trial {
  matches: number
  messages: number
  is_complete: boolean
  examples: { subject: string; at: string; value: number | null }[]
}

export interface Endpoint {
  id: string
  name: string
  format: string
  url: string
  active: boolean
  /** Why the server has switched it off. */
  stopped: string | null
  pending: number
  sent: number
  dead: number
  dropped: number
}

export interface Delivery {
  endpoint_id: string
  state: 'pending' | 'sent' | 'dead'
  tries: number
  next_at: string | null
  status: number | null
  error: string | null
}

export interface AlertEvent {
  id: string
  type: string
  rule_id: string | null
  timestamp: string
  data: { rule?: { name?: string }; call_id?: string; value?: unknown }
  deliveries: Delivery[]
}

const inProject = (project: string) => `?${new URLSearchParams({ project_id: project })}`
const pathOf = (kind: 'rules' | 'endpoints', id: string) => `/alert_${kind}/${encodeURIComponent(id)}`

export const readRules = async (project: string, signal: AbortSignal) =>
  (await requestJson<{ rules: AlertRule[] }>(`/alert_rules${inProject(project)}`, { signal })).rules

export const makeRule = (project_id: string, rule: Condition & { name: string; severity: string }) =>
  requestJson('/alert_rules', { body: { project_id, ...rule } })

/** What it would have sent in the last day. */
export const tryRule = (project_id: string, condition: Condition) =>
  requestJson<Trial>('/alert_rules/try', { body: { project_id, ...condition } })

export const readEndpoints = async (project: string, signal: AbortSignal) =>
  (await requestJson<{ endpoints: Endpoint[] }>(`/alert_endpoints${inProject(project)}`, { signal }))
    .endpoints

interface NewEndpoint {
  name: string
  format: string
  url?: string | undefined
  routing_key?: string | undefined
}

/** The secret is shown only once. */
export const makeEndpoint = async (project_id: string, endpoint: NewEndpoint) =>
  (await requestJson<{ secret: string }>('/alert_endpoints', { body: { project_id, ...endpoint } })).secret

export const pause = (project_id: string, kind: 'rules' | 'endpoints', id: string, isPaused: boolean) =>
  requestJson(pathOf(kind, id), { method: 'PUT', body: { project_id, active: !isPaused } })

export const remove = (project: string, kind: 'rules' | 'endpoints', id: string) =>
  requestJson(`${pathOf(kind, id)}${inProject(project)}`, { method: 'DELETE' })

/** The old secret signs as well for a day. */
export const rotateSecret = async (project_id: string, id: string) =>
  (await requestJson<{ secret: string }>(`${pathOf('endpoints', id)}/rotate`, { body: { project_id } }))
    .secret

export const sendTest = (project_id: string, id: string) =>
  requestJson(`${pathOf('endpoints', id)}/test`, { body: { project_id } })

/** Without events: all dead deliveries of the endpoint. */
export const replay = (project_id: string, endpoint: string, event_ids?: string[]) =>
  requestJson(`${pathOf('endpoints', endpoint)}/replay`, { body: { project_id, event_ids } })

interface EventsView {
  type?: string | undefined
  state?: string | undefined
  /** Only events before this one. */
  before?: string | undefined
  limit: number
}

export const readEvents = async (project_id: string, view: EventsView, signal: AbortSignal) =>
  (
    await requestJson<{ events: AlertEvent[] }>('/alert_events/query', {
      body: { project_id, ...view },
      signal,
    })
  ).events
