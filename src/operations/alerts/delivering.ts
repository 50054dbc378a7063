import { entityOf } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import {
  countPending,
  endpointsAtWork,
  type Outcome,
  type TakenDelivery,
} from '../../storage/alerts/deliveries.ts'
import { type Endpoint, type EndpointKey, findEndpoint } from '../../storage/alerts/endpoints.ts'
import { findExcess } from '../../storage/alerts/trimming.ts'
import { type BackgroundWork, inBackground } from '../background.ts'
import { mayStillAct } from '../background-caller.ts'
import type { OperationParts } from '../parts.ts'
import type { Secrets } from './endpoints.ts'
import { startWindows } from './windows.ts'

const idleMs = 250
const failedMs = 2_000
/** Nothing is sent to an endpoint for so long after a turn that broke off, as when its secrets cannot be read. */
const brokenMs = 30_000
/** A delivery whose process has ended is taken by another after this: longer than a try can last. */
const leaseMs = 25_000

/** Messages to one endpoint at a time. */
const atOnce = 4
/** Of one turn of an endpoint; then others that wait come first. */
const turnMessages = 40
const turnMs = 5_000
/** Endpoints at a time, of all and of the projects of one entity. Whoever is slow takes the slots of its own entity. */
const maxEndpoints = { all: 64, entity: 16 }

/** Sends what is in the outbox. What is needed for it is loaded with the first message. */
function startDelivering(services: OperationParts, failed: (error: unknown) => void): BackgroundWork {
  const { db, webhooks } = services
  const holder = newId()
  const busy = new Map<string, { entity: string; done: Promise<void> }>()
  /** Endpoints whose turn broke off, and until when they wait. */
  const broken = new Map<string, number>()

  /** Who may begin now: first those of the entity that has the fewest slots. */
  function chosen(waiting: readonly EndpointKey[]) {
    const slots = new Map<string, number>()
    const next = (entity: string) => {
      const slot = slots.get(entity) ?? 0
      slots.set(entity, slot + 1)
      return slot
    }
    for (const { entity } of busy.values()) next(entity)
    return waiting
      .map((key) => ({ key, name: `${key.project_id} ${key.endpoint_id}`, entity: entityOf(key.project_id) }))
      .filter(({ name }) => !busy.has(name) && !broken.has(name))
      .map((endpoint) => ({ ...endpoint, slot: next(endpoint.entity) }))
      .filter(({ slot }) => slot < maxEndpoints.entity)
      .sort((a, b) => a.slot - b.slot)
      .slice(0, maxEndpoints.all - busy.size)
  }

  const work = inBackground({
    firstMs: idleMs,
    failedMs,
    failed,
    async run(signal) {
      const time = performance.now()
      for (const [name, until] of broken) if (until <= time) broken.delete(name)
      const waiting = await endpointsAtWork(db, now(), { entity: maxEndpoints.entity, all: maxWaiting })
      for (const { key, name, entity } of chosen(waiting)) {
        const done = turnOf(services, key, holder, signal)
          .catch((error: unknown) => {
            broken.set(name, performance.now() + brokenMs / (webhooks.options.haste ?? 1))
            failed(error)
          })
          .finally(() => busy.delete(name))
        busy.set(name, { entity, done })
      }
      return idleMs
    },
  })
  return {
    async stop() {
      await work.stop()
      await Promise.all([...busy.values()].map(({ done }) => done))
    },
  }
}

/** Endpoints that are looked at in one round. */
const maxWaiting = 10_000

async function turnOf(
  services: OperationParts,
  key: EndpointKey,
  holder: string,
  signal: AbortSignal,
): Promise<void> {
  const { db, sealing } = services
  const endpoint = await findEndpoint(db, key)
  if (endpoint === undefined) return
  if (!(await mayStillAct(services, endpoint.runs_as, key.project_id))) {
    const why = `the user ${endpoint.runs_as} has no access to the project any more`
    await db.write('stopAlertEndpoint', { ...key, why, now: now() })
    return
  }
  const { unsealed } = await import('./endpoints.ts')
  const secrets = await unsealed(sealing, endpoint)
  const end = performance.now() + turnMs
  for (let sent = 0; sent < turnMessages && performance.now() < end && !signal.aborted; ) {
    const time = now()
    const until = time + leaseMs * 1_000
    const taken = await db.write('takeDeliveries', { ...key, holder, limit: atOnce, now: time, until })
    if (taken.length === 0) return
    sent += taken.length
    // A turn ends with the last of them, so that whoever waits for the turn waits for all.
    const ends = await Promise.allSettled(
      taken.map((delivery) => deliver(services, { endpoint, secrets, holder }, delivery, signal)),
    )
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }
}

interface Sender {
  endpoint: Endpoint
  secrets: Secrets
  holder: string
}

async function deliver(
  services: OperationParts,
  { endpoint, secrets, holder }: Sender,
  taken: TakenDelivery,
  signal: AbortSignal,
): Promise<void> {
  const { db, webhooks } = services
  const { failingMicroseconds } = await import('./outcomes.ts')
  const outcome = await tried(webhooks, endpoint, secrets, taken, signal)
  const time = now()
  await db.write('settleDelivery', {
    project_id: endpoint.project_id,
    endpoint_id: endpoint.id,
    event_id: taken.event_id,
    holder,
    outcome,
    failing_before: time - failingMicroseconds,
    now: time,
  })
  webhooks.metrics.tried(outcome)
}

async function tried(
  { check, options, lookups }: OperationParts['webhooks'],
  { format, project_id }: Endpoint,
  { url, secret, previous, routingKey }: Secrets,
  { event_id, type, body, tries }: TakenDelivery,
  signal: AbortSignal,
): Promise<Outcome> {
  const [{ send, sendingDefaults }, { formOf }, { signedHeaders }, { outcomeOf }] = await Promise.all([
    import('./sending.ts'),
    import('./forms.ts'),
    import('./signing.ts'),
    import('./outcomes.ts'),
  ])
  const time = now()
  const secrets = previous !== undefined && previous.until > time ? [secret, previous.secret] : [secret]
  const text = formOf(format, event_id, { type, body }, routingKey)
  const headers = signedHeaders(event_id, Math.floor(time / 1_000_000), text, secrets)
  try {
    const answer = await send(
      { entity: entityOf(project_id), url, headers, body: text },
      { check, lookups, ...sendingDefaults, ...options },
      signal,
    )
    return outcomeOf(answer, tries, now(), options.haste)
  } catch (error) {
    if (signal.aborted) return { kind: 'returned' }
    throw error
  }
}

/** For the metrics. */
const countMs = 15_000
const maxCounted = 100_000

/** Finding what is beyond the bounds reads everything. */
const trimMs = 180_000

/** What alerts need besides the writes that fire them: messages, windows, counts, and bounds. */
export function startAlerts(services: OperationParts, failed: (error: unknown) => void): BackgroundWork[] {
  const { db, webhooks } = services
  return [
    startDelivering(services, failed),
    startWindows(db, webhooks.options.haste ?? 1, failed),
    inBackground({
      firstMs: idleMs,
      failedMs: countMs,
      failed,
      async run() {
        webhooks.metrics.waiting(await countPending(db, maxCounted))
        return countMs / (webhooks.options.haste ?? 1)
      },
    }),
    inBackground({
      firstMs: trimMs,
      failedMs: trimMs,
      failed,
      run: async (signal) => ((await trim(db, signal)) ? 0 : trimMs),
    }),
  ]
}

/** Returns whether there is more. */
async function trim(db: OperationParts['db'], signal: AbortSignal): Promise<boolean> {
  try {
    const excess = await findExcess(db, now(), signal)
    if (excess.endpoints.length === 0 && excess.events.length === 0) return false
    return (await db.writeInBackground('trimAlerts', excess)) || excess.hasMore
  } catch (error) {
    if (signal.aborted) return false
    throw error
  }
}
