import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { Refusal, refuse } from '../../domain/refusals.ts'
import type { Address, Addresses } from './addresses.ts'
import { deliver, type Outcome } from './deliveries.ts'
import { UnreachableError } from './exchange.ts'
import { compressedReply, isCutOff, isTemporary, refusalOf, secondsOf, withoutKey } from './failures.ts'
import type { UpstreamKind } from './kinds.ts'
import { beginningOf, contentTypeOf } from './pieces.ts'
import { moreAfter, pauseMsOf, type ResendBudget } from './resending.ts'
import { retryAdviceOf } from './retry-headers.ts'

export interface UpstreamAsk {
  /** Relative to the address; with `../` next to it. */
  path: string
  body: string
  /** The caller, who has a budget of requests that are sent again. */
  tenant: string
  kind: UpstreamKind
  traceparent?: string | undefined
  beginning: string
  /**
   * What its answer shows of an address: how fast it begins an answer, and whether it works; only that; or nothing, where
   * a proxy may pass on everything else.
   */
  shows: 'speed' | 'health' | 'nothing'
  /** The refusal for a server without the route, or whose model cannot do what it is for. */
  ifMissing?: Refusal
}

/** An answer that has begun at one of the addresses. */
export interface TakenAnswer {
  answer: IncomingMessage
  /** Something of the answer itself has come. */
  sign(): void
  /** Must be called when the answer is over, with what has ended it unless it is complete. */
  done(error?: unknown): void
  /**
   * Reading it has failed before anything of it came: asks another address if the request may be sent again, and throws
   * the error otherwise.
   */
  again(error: unknown): Promise<TakenAnswer>
}

/** Sends a request to the first address that accepts it. */
export type Ask = (question: UpstreamAsk, signal: AbortSignal) => Promise<TakenAnswer>

interface Asking {
  addresses: Pick<Addresses, 'inOrder' | 'failed' | 'cool' | 'recheck'>
  silenceMs: number
  /** How often the only address of a server is asked again after the time that it named. */
  retries: number
  budgetOf(tenant: string): ResendBudget
  send(
    address: Address,
    question: UpstreamAsk,
    signal: AbortSignal,
    resent: () => void,
  ): Promise<IncomingMessage>
  resent(reason: ResentReason): void
  /** It would have been sent again, had the budget allowed it. */
  withheld(reason: ResentReason): void
  random?(): number
  rest?(ms: number, signal: AbortSignal): Promise<unknown>
}

/** Why a request was sent again; `stale`: its idle connection was closed before anything was sent. */
export type ResentReason = Outcome | 'stale'

/** Why an address has not answered. */
interface Setback {
  outcome: Exclude<Outcome, 'answered'>
  refusal: Refusal
  /** What the log says of an address that cannot be reached. */
  fault?: string
  /** How long others are asked first. */
  coolMs?: number
  /** After so long it may be asked again, if there is no other. */
  pauseMs?: number | undefined
  /** It says that the request would fail again. What it did nothing for may still be done elsewhere. */
  isFinal?: boolean
}

/** In bytes. A status says what to do, so the text of an error is read only this far. */
const maxError = 1024 * 1024

/** For a server that has accepted a request and not answered it. */
const silentCoolMs = 30_000
const closedCoolMs = 1_000
const overloadCoolMs = 1_000

export function createAsk({
  addresses,
  silenceMs,
  retries,
  budgetOf,
  send,
  resent,
  withheld,
  random = Math.random,
  rest = (ms, signal) => delay(ms, undefined, { signal }),
}: Asking): Ask {
  function settle(address: Address, { outcome, fault, coolMs }: Setback, { shows }: UpstreamAsk): void {
    if (outcome === 'unreachable') addresses.failed(address, fault ?? '')
    else if (outcome !== 'refused' && shows !== 'nothing') {
      addresses.cool(address, coolMs ?? 0)
      if (outcome === 'timeout' || outcome === 'closed') addresses.recheck(address)
    }
  }

  return (question, signal) => {
    const order = addresses.inOrder(question.beginning)
    const only = order.length === 1 ? order[0] : undefined
    let isRepeated = false
    let retried = 0
    const budget = budgetOf(question.tenant)
    budget.sent()

    async function attempt(address: Address): Promise<TakenAnswer | Setback> {
      const delivery = deliver(address, question.shows === 'speed')
      const fail = (setback: Setback): Setback => {
        if (delivery.end(setback.outcome)) settle(address, setback, question)
        return setback
      }
      const done = (error?: unknown) => {
        if (signal.aborted) delivery.end()
        else if (error === undefined) delivery.end('answered')
        else fail(setbackOfError(error))
      }
      const again = async (error: unknown) => {
        const setback = setbackOfError(error)
        if (signal.aborted || moreAfter[setback.outcome] === 'none') throw error
        return firstOf(fail(setback))
      }
      try {
        const answer = await send(address, question, signal, () => resent('stale'))
        const status = answer.statusCode ?? 0
        const compressed = compressedReply(answer)
        if (compressed !== undefined && status === 200) {
          answer.destroy()
          return fail({ outcome: 'refused', refusal: compressed })
        }
        if (status === 200) {
          if (!isStream(answer)) delivery.sign()
          return { answer, sign: delivery.sign, done, again }
        }
        const told = await beginningOf(answer, silenceMs, maxError)
        // A compressed error is read by its status.
        const text = compressed === undefined ? withoutKey(told, address.key) : ''
        const { ifMissing, kind } = question
        if (ifMissing && missing.has(status)) return fail({ outcome: 'refused', refusal: ifMissing })
        const advice = retryAdviceOf(status, answer.headers)
        return fail({
          outcome: outcomeOf(status),
          refusal: refusalOf(status, text, kind, advice.seconds),
          coolMs: secondsOf(advice.seconds) * 1_000,
          pauseMs: pauseMsOf(status, advice, random),
          isFinal: advice.isWorthwhile === false,
        })
      } catch (error) {
        if (!signal.aborted) return fail(setbackOfError(error))
        delivery.end()
        throw signal.reason
      }
    }

    /** Where it is sent after a setback; undefined if it is not sent again. */
    async function nextAfter({ outcome, pauseMs, isFinal }: Setback): Promise<Address | undefined> {
      const more = moreAfter[outcome]
      if (more === 'none' || (more === 'one' && (isRepeated || isFinal))) return undefined
      const mayWait = pauseMs !== undefined && retried < retries
      const next = order.shift() ?? (mayWait ? only : undefined)
      if (next === undefined) return undefined
      // What reached nobody adds nothing to what the server has to do.
      if (outcome !== 'unreachable' && !budget.take()) {
        withheld(outcome)
        return undefined
      }
      isRepeated ||= more === 'one'
      if (next === only) {
        retried++
        // Still in progress there: a server that leaves the list is closed after it.
        next.running++
        await rest(pauseMs ?? 0, signal)
          .catch(() => signal.throwIfAborted())
          .finally(() => next.running--)
      }
      resent(outcome)
      return next
    }

    async function firstOf(setback?: Setback): Promise<TakenAnswer> {
      let refusal = setback?.refusal
      for (let last = setback; ; ) {
        const address = last === undefined ? order.shift() : await nextAfter(last)
        if (address === undefined)
          throw refusal ?? refuse('upstream_unavailable', { why: 'it has no address' })
        const taken = await attempt(address)
        if ('answer' in taken) return taken
        // An address that is dead says less than one that was busy.
        if (last === undefined || taken.outcome !== 'unreachable') refusal = taken.refusal
        last = taken
      }
    }

    return firstOf()
  }
}

const missing = new Set([404, 405, 501])

const isStream = (answer: IncomingMessage) => contentTypeOf(answer).startsWith('text/event-stream')

function outcomeOf(status: number): Setback['outcome'] {
  if (status === 429) return 'busy'
  return isTemporary(status) ? 'failed' : 'refused'
}

function setbackOfError(error: unknown): Setback {
  if (error instanceof Refusal && !isCutOff(error)) {
    if (error.code === 'upstream_timeout') return { outcome: 'timeout', refusal: error, coolMs: silentCoolMs }
    // A stream may tell of an overload after its status 200.
    const outcome = error.status === 429 || error.status === 503 ? outcomeOf(error.status) : 'refused'
    return { outcome, refusal: error, coolMs: overloadCoolMs }
  }
  if (error instanceof UnreachableError) {
    const refusal = refuse('upstream_unavailable', { why: 'it cannot be reached' })
    return { outcome: 'unreachable', refusal, fault: error.message }
  }
  const refusal = refuse('upstream_unavailable', { why: 'it ended the connection' })
  return { outcome: 'closed', refusal, coolMs: closedCoolMs }
}
