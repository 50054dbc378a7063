import type { Format } from '../../domain/alerts.ts'
import { byCaller, type Caller, requireAccess, requireScope } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { requireFew, wrong } from '../../domain/refusals.ts'
import { formatTime, formatTimeOrNull, now } from '../../domain/time.ts'
import {
  type Endpoint,
  type EndpointKey,
  listEndpoints,
  requireEndpoint,
} from '../../storage/alerts/endpoints.ts'
import { countDeliveries, type Delivery, deliveriesOf, readEvents } from '../../storage/alerts/events.ts'
import type { Database } from '../../storage/database.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { OperationParts } from '../parts.ts'
import type { Sealing } from '../sealing.ts'
import {
  type CreateEndpointBody,
  type EventsBody,
  maxReplayed,
  type ReplayBody,
  type RotateBody,
  type UpdateEndpointBody,
} from './contract.ts'
import { newSecret } from './signing.ts'

type Services = Pick<OperationParts, 'db' | 'sealing' | 'webhooks'>

/** What only the server can read of an endpoint. */
export interface Secrets {
  url: string
  secret: string
  routingKey?: string
  /** Signs as well until then. */
  previous?: { secret: string; until: number }
}

const pagerDuty = 'https://events.pagerduty.com/v2/enqueue'

const ownerOf = ({ project_id, endpoint_id }: EndpointKey) => `endpoint ${project_id} ${endpoint_id}`

async function sealed(sealing: Sealing, key: EndpointKey, secrets: Secrets): Promise<string> {
  return (await sealing.open(ownerOf(key))).seal(JSON.stringify(secrets))
}

export async function unsealed(sealing: Sealing, { project_id, id, sealed }: Endpoint): Promise<Secrets> {
  const text = (await sealing.open(ownerOf({ project_id, endpoint_id: id }))).unseal(sealed)
  if (text === undefined) throw new Error('the secrets of an alert endpoint cannot be read')
  return JSON.parse(text) as Secrets
}

/** The addresses of chats are their own key: only the host is shown. */
function shownUrl(format: Format, address: string): string {
  const { origin, pathname, search } = new URL(address)
  if (format === 'slack' || format === 'teams') return `${origin}/…`
  return `${origin}${pathname}${search === '' ? '' : '?…'}`
}

function checkedUrl({ webhooks }: Services, format: Format, address: string | null | undefined): string {
  const refused = (accepted: string) =>
    wrong('url', address == null ? 'nothing' : 'another address', accepted)
  if (format === 'pagerduty' && address == null) return pagerDuty
  const url = address == null ? null : URL.parse(address)
  const isWeb = url?.protocol === 'https:' || (url?.protocol === 'http:' && webhooks.allowsPrivate)
  if (url === null || !isWeb || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw refused(
      'an https:// address without a user and a fragment; http:// for addresses in HEDDLE_WEBHOOK_ALLOW',
    )
  }
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (webhooks.kindOfLiteral(host) === 'forbidden') {
    throw refused('a public address, or one in HEDDLE_WEBHOOK_ALLOW')
  }
  return url.href
}

function checkedKey(format: Format, key: string | null | undefined): { routingKey?: string } {
  if ((format === 'pagerduty') === (key != null)) return key == null ? {} : { routingKey: key }
  const accepted = 'a key for pagerduty, and none for other formats'
  throw wrong('routing_key', key == null ? 'nothing' : 'a key', accepted)
}

export async function createEndpoint(services: Services, caller: Caller, body: CreateEndpointBody) {
  const { project_id, name, types } = body
  requireAccess(caller, project_id)
  // Messages say what calls match which condition.
  requireScope(caller, 'read')
  const format = body.format ?? 'standard'
  const url = checkedUrl(services, format, body.url)
  const secret = newSecret()
  const id = newId()
  const key = { project_id, endpoint_id: id }
  const secrets = { url, secret, ...checkedKey(format, body.routing_key) }
  const time = now()
  const endpoint: Endpoint = {
    project_id,
    id,
    name,
    format,
    shown: shownUrl(format, url),
    sealed: await sealed(services.sealing, key, secrets),
    types: types == null ? null : JSON.stringify(types),
    active: 1,
    stopped: null,
    runs_as: caller.name,
    failures: 0,
    failing_since: null,
    rests_until: 0,
    taken_at: 0,
    dropped: 0,
    created_at: time,
    created_by: caller.name,
    updated_at: time,
  }
  await services.db.write('addEndpoint', { ...endpoint })
  return { endpoint: endpointRecord(endpoint, {}), secret }
}

async function shown(db: Reader, endpoint: Endpoint) {
  const counts = await countDeliveries(db, endpoint.project_id)
  return { endpoint: endpointRecord(endpoint, counts.get(endpoint.id) ?? {}) }
}

export async function readEndpoints(db: Reader, caller: Caller, project: string) {
  requireAccess(caller, project)
  const counts = await countDeliveries(db, project)
  const endpoints = await listEndpoints(db, project)
  return { endpoints: endpoints.map((endpoint) => endpointRecord(endpoint, counts.get(endpoint.id) ?? {})) }
}

export async function updateEndpoint(
  services: Services,
  caller: Caller,
  endpoint_id: string,
  body: UpdateEndpointBody,
) {
  const { project_id, name, url, routing_key, types, active } = body
  requireAccess(caller, project_id)
  requireScope(caller, 'read')
  const key = { project_id, endpoint_id }
  const { db, sealing } = services
  const known = await requireEndpoint(db, key)
  const change: Partial<Pick<Endpoint, 'name' | 'shown' | 'sealed' | 'types' | 'active'>> = {}
  if (name !== undefined) change.name = name
  if (types !== undefined) change.types = types === null ? null : JSON.stringify(types)
  if (active != null) change.active = active ? 1 : 0
  if (url !== undefined || routing_key !== undefined) {
    const secrets = await unsealed(sealing, known)
    const next = {
      ...secrets,
      ...(url !== undefined && { url: checkedUrl(services, known.format, url) }),
      // Whoever names another address names the key that goes there, too: it need not be theirs to know.
      ...checkedKey(known.format, routing_key),
    }
    change.shown = shownUrl(known.format, next.url)
    change.sealed = await sealed(sealing, key, next)
  }
  return shown(db, await db.write('changeEndpoint', { ...key, user: caller.name, change, now: now() }))
}

/** The old secret signs as well for a while, so that receivers can be changed one after the other. */
export async function rotateSecret(
  { db, sealing }: Services,
  caller: Caller,
  endpoint_id: string,
  { project_id, overlap_hours }: RotateBody,
) {
  requireAccess(caller, project_id)
  const key = { project_id, endpoint_id }
  const { previous: _older, ...known } = await unsealed(sealing, await requireEndpoint(db, key))
  const secret = newSecret()
  const until = now() + (overlap_hours ?? 24) * 3_600 * 1_000_000
  const next = { ...known, secret, previous: { secret: known.secret, until } }
  const change = { sealed: await sealed(sealing, key, next) }
  const endpoint = await db.write('changeEndpoint', { ...key, user: caller.name, change, now: now() })
  return { ...(await shown(db, endpoint)), secret }
}

export async function deleteOneEndpoint(db: Database, caller: Caller, key: EndpointKey) {
  requireAccess(caller, key.project_id)
  return { endpoint: endpointRecord(await db.write('deleteEndpoint', { ...key, by: byCaller(caller) }), {}) }
}

export async function sendTest(db: Database, caller: Caller, key: EndpointKey) {
  requireAccess(caller, key.project_id)
  const { active, stopped, name } = await requireEndpoint(db, key)
  if (active === 0) {
    const why = stopped === null ? 'it is paused' : `it was switched off: ${stopped}`
    throw wrong('endpoint_id', `${JSON.stringify(name)}, and ${why}`, 'an active endpoint')
  }
  return { event_id: await db.write('testEndpoint', { ...key, id: newId(), now: now() }) }
}

export async function listEvents(db: Reader, caller: Caller, body: EventsBody) {
  const { project_id: project, rule_id, endpoint_id, type, state, before, limit } = body
  requireAccess(caller, project)
  const events = await readEvents(db, {
    project,
    rule: rule_id ?? undefined,
    endpoint: endpoint_id ?? undefined,
    type: type ?? undefined,
    state: state ?? undefined,
    before: before ?? undefined,
    limit: limit ?? 100,
  })
  const deliveries = Map.groupBy(
    await deliveriesOf(
      db,
      project,
      events.map(({ id }) => id),
    ),
    ({ event_id }) => event_id,
  )
  return {
    events: events.map(({ id, rule_id, body, created_at, type }) => ({
      id,
      type,
      rule_id: rule_id === '' ? null : rule_id,
      timestamp: formatTime(created_at),
      data: (JSON.parse(body) as { data: unknown }).data,
      deliveries: (deliveries.get(id) ?? []).map(deliveryRecord),
    })),
  }
}

const deliveryRecord = ({ event_id: _event, ...delivery }: Delivery) => ({
  ...delivery,
  next_at: delivery.state === 'pending' ? formatTime(delivery.next_at) : null,
  updated_at: formatTime(delivery.updated_at),
})

export async function replay(db: Database, caller: Caller, key: EndpointKey, body: ReplayBody) {
  requireAccess(caller, key.project_id)
  await requireEndpoint(db, key)
  const { event_ids, after, before } = body
  requireFew('event_ids', event_ids ?? [], maxReplayed)
  const replayed = await db.write('replayDeliveries', {
    ...key,
    event_ids: event_ids ?? null,
    after: after ?? 0,
    before: before ?? Number.MAX_SAFE_INTEGER,
    limit: maxReplayed,
    now: now(),
  })
  return { replayed }
}

function endpointRecord(endpoint: Endpoint, counts: Readonly<Record<string, number>>) {
  return {
    id: endpoint.id,
    project_id: endpoint.project_id,
    name: endpoint.name,
    format: endpoint.format,
    url: endpoint.shown,
    types: endpoint.types === null ? null : (JSON.parse(endpoint.types) as string[]),
    active: endpoint.active === 1,
    stopped: endpoint.stopped,
    failures: endpoint.failures,
    failing_since: formatTimeOrNull(endpoint.failing_since),
    pending: counts.pending ?? 0,
    sent: counts.sent ?? 0,
    dead: counts.dead ?? 0,
    dropped: endpoint.dropped,
    created_at: formatTime(endpoint.created_at),
    created_by: endpoint.created_by,
    updated_at: formatTime(endpoint.updated_at),
  }
}
