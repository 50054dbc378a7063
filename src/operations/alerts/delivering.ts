import { entityOf } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import { countPending, endpointsAtWork } from '../../storage/alerts/deliveries.ts'
import type { EndpointKey } from '../../storage/alerts/endpoints.ts'
import { findExcess } from '../../storage/alerts/trimming.ts'
import { boundTo } from '../../storage/transaction.ts'
import { type BackgroundWork, inBackground } from '../background.ts'
import type { OperationParts } from '../parts.ts'
import { takeTurn } from './turns.ts'
import { startWindows } from './windows.ts'

const idleMs = 250
const failedMs = 2_000
/** Nothing is sent to an endpoint for so long after a turn that broke off, as when its secrets cannot be read. */
const brokenMs = 30_000
/** Endpoints at a time, of all and of the projects of one entity. Whoever is slow takes the slots of its own entity. */
const maxEndpoints = { all: 64, entity: 16 }

/** Sends what is in the outbox. What is needed for it is loaded with the first message. */
function startDelivering(services: OperationParts, failed: (error: unknown) => void): BackgroundWork {
  const { db, webhooks } = services
  const holder = newId()
  const busy = new Map<string, { entity: string; done: Promise<void> }>()
  /** Endpoints whose turn broke off, or found that all has to wait, and until when they are left alone. */
  const resting = new Map<string, number>()

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
      .filter(({ name }) => !busy.has(name) && !resting.has(name))
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
      for (const [name, until] of resting) if (until <= time) resting.delete(name)
      const waiting = await endpointsAtWork(db, now(), { entity: maxEndpoints.entity, all: maxWaiting })
      for (const { key, name, entity } of chosen(waiting)) {
        const done = takeTurn(services, key, holder, signal)
          .catch((error: unknown) => {
            failed(error)
            return performance.now() + brokenMs / (webhooks.options.haste ?? 1)
          })
          .then((until) => void resting.set(name, until))
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
    const excess = await findExcess(boundTo(db, signal), now())
    if (excess.endpoints.length === 0 && excess.events.length === 0) return false
    return (await db.writeInBackground('trimAlerts', excess)) || excess.hasMore
  } catch (error) {
    if (signal.aborted) return false
    throw error
  }
}
