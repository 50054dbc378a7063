import type { z } from 'zod'
import type { Measure, severities, Watched } from '../../src/domain/alerts.ts'
import type {
  CreateEndpointBody,
  EndpointsAnswer,
  EventsAnswer,
  RulesAnswer,
  TryAnswer,
  TryRuleBody,
} from '../../src/operations/alerts/contract.ts'
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

/** When a rule fires. */
export type Condition = Omit<TryRuleBody, 'project_id' | 'query'> & { query?: unknown }
export type AlertRule = Condition & z.output<typeof RulesAnswer>['rules'][number]

export type Endpoint = z.output<typeof EndpointsAnswer>['endpoints'][number]

export interface AlertEvent extends StoredEvent {
  data: { rule?: { name?: string }; call_id?: string; value?: unknown }
}

type StoredEvent = z.output<typeof EventsAnswer>['events'][number]
export type Delivery = StoredEvent['deliveries'][number]

const inProject = (project: string) => `?${new URLSearchParams({ project_id: project })}`
const pathOf = (kind: 'rules' | 'endpoints', id: string) => `/alert_${kind}/${encodeURIComponent(id)}`

export const readRules = async (project: string, signal: AbortSignal) =>
  (await requestJson<{ rules: AlertRule[] }>(`/alert_rules${inProject(project)}`, { signal })).rules

export const makeRule = (project_id: string, rule: Condition & { name: string }) =>
  requestJson('/alert_rules', { body: { project_id, ...rule } })

/** What it would have sent in the last day. */
export const tryRule = (project_id: string, condition: Condition) =>
  requestJson<z.output<typeof TryAnswer>>('/alert_rules/try', { body: { project_id, ...condition } })

export const readEndpoints = async (project: string, signal: AbortSignal) =>
  (await requestJson<{ endpoints: Endpoint[] }>(`/alert_endpoints${inProject(project)}`, { signal }))
    .endpoints

/** The secret is shown only once. */
export const makeEndpoint = async (project_id: string, endpoint: Omit<CreateEndpointBody, 'project_id'>) =>
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
