import { setTimeout as sleep } from 'node:timers/promises'
import { entityOf } from '../../domain/callers.ts'
import { now } from '../../domain/time.ts'
import type { Outcome, TakenDelivery } from '../../storage/alerts/deliveries.ts'
import { type Endpoint, type EndpointKey, findEndpoint } from '../../storage/alerts/endpoints.ts'
import { mayStillAct } from '../background-caller.ts'
import type { OperationParts } from '../parts.ts'
import type { Secrets } from './endpoints.ts'

/** Messages to one endpoint at a time, each of another rule. */
const atOnce = 4
/** Of one turn of an endpoint; then others that wait come first. */
const turnMessages = 40
const turnMs = 5_000
/** What is taken is sent within this time, or returned: its rule may have been slow. */
const freshMs = 5_000
/** But never within less, however long the taking took. */
const minSendingMs = 1_000
/** A delivery whose process has ended is taken by another after this: longer than until a try of it has ended. */
const leaseMs = 25_000
/** A message that fails holds back the next ones of its rule until it is so old: it was tried three times then. */
const holdingMicroseconds = 600 * 1_000_000
/** While all that is due has to wait, it is looked for so often: a look reads all that waits. */
const lookMs = 1_000

/** Messages of one rule, in the order in which they go; none is begun later than `until`. */
interface Chain {
  deliveries: readonly TakenDelivery[]
  until: number
}

interface Sender {
  key: EndpointKey
  holder: string
  endpoint: Endpoint
  secrets: Secrets
}

/** Sends what waits for an endpoint, for a while. Returns until when it is left alone, because all that is due has to wait. */
export async function takeTurn(
  services: OperationParts,
  key: EndpointKey,
  holder: string,
  signal: AbortSignal,
): Promise<number> {
  const { db, sealing } = services
  const endpoint = await findEndpoint(db, key)
  if (endpoint === undefined) return 0
  if (!(await mayStillAct(services, endpoint.runs_as, key.project_id))) {
    const why = `the user ${endpoint.runs_as} has no access to the project any more`
    await db.write('stopAlertEndpoint', { ...key, why, now: now() })
    return 0
  }
  const { unsealed } = await import('./endpoints.ts')
  const secrets = await unsealed(sealing, endpoint)
  return runTurn(services, { key, holder, endpoint, secrets }, signal)
}

/** How much of a turn is left. */
function openTurn(signal: AbortSignal) {
  const end = performance.now() + turnMs
  let messages = turnMessages
  /** Messages on their way that were begun before the turn was over: other rules need not wait for the slow one. */
  let early = 0
  let isClosed = false
  const isOver = () => messages <= 0 || performance.now() >= end
  return {
    maySend: () => !isClosed && !signal.aborted && (early > 0 || !isOver()),
    /** Call what it returns when the message has been tried. */
    begin(): () => void {
      const isEarly = !isOver()
      messages--
      if (isEarly) early++
      return () => {
        if (isEarly) early--
      }
    },
    close() {
      isClosed = true
    },
    messages: () => messages,
  }
}

async function runTurn(services: OperationParts, sender: Sender, signal: AbortSignal): Promise<number> {
  const turn = openTurn(signal)
  const chains: Chain[] = []
  const running = new Set<Promise<void>>()
  const errors: unknown[] = []
  let lookAt = 0

  function start(chain: Chain): void {
    const done = sendChain(services, sender, chain, turn, signal)
      .catch((error: unknown) => {
        turn.close()
        errors.push(error)
      })
      .finally(() => running.delete(done))
    running.add(done)
  }

  try {
    for (;;) {
      const isFree = running.size < atOnce && turn.maySend()
      if (isFree && chains.length === 0 && performance.now() >= lookAt) {
        lookAt = performance.now() + lookMs
        chains.push(...(await takeChains(services, sender, Math.max(turn.messages(), atOnce))))
      }
      const chain = isFree ? chains.shift() : undefined
      if (chain !== undefined) start(chain)
      else if (running.size === 0) break
      else await Promise.race([...running, sleep(lookMs, undefined, { ref: false })])
    }
  } finally {
    // A turn ends with the last message, so that whoever waits for the turn waits for all.
    await Promise.all(running)
    await giveBack(
      services,
      sender,
      chains.flatMap(({ deliveries }) => deliveries),
    )
  }
  if (errors.length > 0) throw errors[0]
  return turn.messages() === turnMessages ? lookAt : 0
}

const holdingAfter = ({ webhooks }: OperationParts) =>
  now() - holdingMicroseconds / (webhooks.options.haste ?? 1)

async function takeChains(
  services: OperationParts,
  { key, holder }: Sender,
  limit: number,
): Promise<Chain[]> {
  const fresh = performance.now() + freshMs
  const times = { now: now(), until: now() + leaseMs * 1_000, holding_after: holdingAfter(services) }
  const taken = await services.db.write('takeDeliveries', { ...key, holder, limit, ...times })
  // Even if the write waited for long: an alert is not given back for ever because the server is busy.
  const until = Math.max(fresh, performance.now() + minSendingMs)
  const byRule = Map.groupBy(taken, ({ rule_id, event_id }) => rule_id || event_id)
  return [...byRule.values()].map((deliveries) => ({ deliveries, until }))
}

async function sendChain(
  services: OperationParts,
  sender: Sender,
  { deliveries, until }: Chain,
  turn: ReturnType<typeof openTurn>,
  signal: AbortSignal,
): Promise<void> {
  for (const [index, delivery] of deliveries.entries()) {
    if (!turn.maySend() || performance.now() >= until) {
      return giveBack(services, sender, deliveries.slice(index))
    }
    const tried = turn.begin()
    const { outcome, isOpen } = await deliver(services, sender, delivery, signal)
    tried()
    if (!isOpen) turn.close()
    if (outcome.kind !== 'sent' && delivery.created_at > holdingAfter(services)) {
      return giveBack(services, sender, deliveries.slice(index + 1))
    }
  }
}

async function giveBack(
  { db }: OperationParts,
  { key, holder }: Sender,
  deliveries: readonly TakenDelivery[],
): Promise<void> {
  const event_ids = deliveries.map(({ event_id }) => event_id)
  if (event_ids.length > 0) await db.write('returnDeliveries', { ...key, holder, event_ids })
}

async function deliver(
  services: OperationParts,
  { key, holder, endpoint, secrets }: Sender,
  taken: TakenDelivery,
  signal: AbortSignal,
): Promise<{ outcome: Outcome; isOpen: boolean }> {
  const { db, webhooks } = services
  const { failingMicroseconds } = await import('./sending.ts')
  const outcome = await tried(webhooks, endpoint, secrets, taken, signal)
  const time = now()
  const times = { failing_before: time - failingMicroseconds, now: time }
  const settling = { ...key, event_id: taken.event_id, holder, outcome, ...times }
  const isOpen = await db.write('settleDelivery', settling)
  webhooks.metrics.tried(outcome)
  return { outcome, isOpen }
}

async function tried(
  { check, options, lookups }: OperationParts['webhooks'],
  { format, project_id }: Endpoint,
  { url, secret, previous, routingKey }: Secrets,
  { event_id, type, body, tries }: TakenDelivery,
  signal: AbortSignal,
): Promise<Outcome> {
  const [{ send, sendingDefaults, outcomeOf }, { formOf }, { signedHeaders }] = await Promise.all([
    import('./sending.ts'),
    import('./forms.ts'),
    import('./signing.ts'),
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
