import { setTimeout as delay } from 'node:timers/promises'
import { emptyLoad, type Load } from './deliveries.ts'
import { orderOf } from './routing.ts'

export interface GivenAddress {
  /** Including `/v1`, without a trailing slash. */
  url: string
  /** Its share of the requests, relative to the other addresses. */
  weight: number
  key?: string
}

export interface Address extends GivenAddress, Load {
  /** Its URL without what may be a secret. */
  shown: string
}

export interface Addresses {
  readonly all: readonly Address[]
  /** Resolves when each has been checked once. */
  readonly looked: Promise<unknown>
  /** Resolves when one of them answers, or none does. */
  readonly reached: Promise<unknown>
  /** The order in which to try them for a prompt with this beginning. */
  inOrder(beginning: string): Address[]
  /** It cannot be reached: it is not used until it answers, and checked again soon. */
  failed(address: Address, fault: string): void
  /** Another is asked first for so long. */
  cool(address: Address, ms: number): void
  /** It is checked again soon. */
  recheck(address: Address): void
  close(): Promise<void>
}

/** The time until an address is checked again: while it works, and while it does not. */
export interface ProbeTimes {
  wellMs: number
  minMs: number
  maxMs: number
}

const usualTimes: ProbeTimes = { wellMs: 30_000, minMs: 500, maxMs: 10_000 }

/**
 * The addresses of a server. `look` checks one, and rejects with what is wrong with it. Each is checked independently,
 * so one that hangs does not delay the others.
 */
export function watchAddresses(
  configured: readonly GivenAddress[],
  look: (address: Address, signal: AbortSignal) => Promise<void>,
  { times = usualTimes, onChange }: { times?: ProbeTimes; onChange(address: Address): void },
): Addresses {
  const all = configured.map(
    (address): Address => ({
      ...address,
      ...emptyLoad(),
      shown: shownAddress(address.url),
      fault: 'it has not been asked yet',
    }),
  )
  const closing = new AbortController()
  const wakes = new Map<Address, AbortController>()
  const looks = all.map(() => Promise.withResolvers<void>())
  const looked = Promise.all(looks.map(({ promise }) => promise))
  const answered = Promise.withResolvers<void>()
  const watched = all.map((address, index) => watch(address, looks[index]?.resolve))

  function tell(address: Address, fault: string | undefined): void {
    const isChange = (address.fault === undefined) !== (fault === undefined)
    address.fault = fault
    if (isChange) onChange(address)
  }

  function recheck(address: Address): void {
    wakes.get(address)?.abort()
  }

  async function watch(address: Address, looked = () => {}): Promise<void> {
    let pause = times.minMs
    while (!closing.signal.aborted) {
      try {
        await look(address, AbortSignal.any([closing.signal, AbortSignal.timeout(times.maxMs)]))
        tell(address, undefined)
        answered.resolve()
        pause = times.minMs
      } catch (error) {
        if (closing.signal.aborted) return
        tell(address, error instanceof Error ? error.message : String(error))
        pause = Math.min(2 * pause, times.maxMs)
      }
      looked()
      const wake = new AbortController()
      wakes.set(address, wake)
      const signal = AbortSignal.any([closing.signal, wake.signal])
      // Ends early when a request has failed or the server stops.
      await rest(address.fault === undefined ? times.wellMs : pause, signal)
      if (wake.signal.aborted) await rest(times.minMs, closing.signal)
    }
  }

  return {
    all,
    looked,
    reached: Promise.race([answered.promise, looked]),
    inOrder: (beginning) => orderOf(all, beginning, performance.now()),
    failed(address, fault) {
      tell(address, fault)
      recheck(address)
    },
    cool(address, ms) {
      address.coolUntil = Math.max(address.coolUntil, performance.now() + ms)
    },
    recheck,
    async close() {
      closing.abort(new Error('the server is stopping'))
      await Promise.all(watched)
    },
  }
}

/** Waits for so long, or until the signal. */
const rest = (ms: number, signal: AbortSignal) =>
  delay(ms, undefined, { ref: false, signal }).catch(() => undefined)

/** The address without what may be a secret. */
export function shownAddress(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}
