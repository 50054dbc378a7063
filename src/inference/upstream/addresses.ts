import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

export interface GivenAddress {
  /** Including `/v1`, without a trailing slash. */
  url: string
  /** Its share of the requests, relative to the other addresses. */
  weight: number
  key?: string
}

export interface Address extends GivenAddress {
  /** Why it is not used now; undefined while it works. */
  trouble: string | undefined
  /** Requests in progress there. */
  running: number
}

export interface Addresses {
  readonly all: readonly Address[]
  /** Resolves when each has been checked once. */
  readonly looked: Promise<unknown>
  /** Resolves when one of them answers, or none does. */
  readonly reached: Promise<unknown>
  /** The order in which to try them for a prompt with this beginning. */
  inOrder(beginning: string): Address[]
  /** A request to it has failed; it is checked again soon. */
  failed(address: Address, trouble: string): void
  close(): Promise<void>
}

/** A server that has cached the beginning of a prompt is avoided when it has this many more requests than another. */
const busier = 4

/** The time until an address is checked again: while it works, and while it does not. */
export interface ProbeTimes {
  wellMs: number
  leastMs: number
  mostMs: number
}

const usualTimes: ProbeTimes = { wellMs: 30_000, leastMs: 500, mostMs: 10_000 }

/**
 * The addresses of a server. `look` checks one, and rejects with what is wrong with it. Each is checked independently,
 * so one that hangs does not delay the others.
 */
export function watchAddresses(
  given: readonly GivenAddress[],
  look: (address: Address, signal: AbortSignal) => Promise<void>,
  { times = usualTimes, onChange }: { times?: ProbeTimes; onChange(address: Address): void },
): Addresses {
  const all = given.map((one): Address => ({ ...one, trouble: 'it has not been asked yet', running: 0 }))
  const closing = new AbortController()
  const wakes = new Map<Address, AbortController>()
  const looks = all.map(() => Promise.withResolvers<void>())
  const looked = Promise.all(looks.map(({ promise }) => promise))
  const answered = Promise.withResolvers<void>()
  const watched = all.map((address, index) => watch(address, looks[index]?.resolve))

  function tell(address: Address, trouble: string | undefined): void {
    const isChange = (address.trouble === undefined) !== (trouble === undefined)
    address.trouble = trouble
    if (isChange) onChange(address)
  }

  async function watch(address: Address, looked = () => {}): Promise<void> {
    let pause = times.leastMs
    while (!closing.signal.aborted) {
      try {
        await look(address, AbortSignal.any([closing.signal, AbortSignal.timeout(times.mostMs)]))
        tell(address, undefined)
        answered.resolve()
        pause = times.leastMs
      } catch (error) {
        if (closing.signal.aborted) return
        tell(address, error instanceof Error ? error.message : String(error))
        pause = Math.min(2 * pause, times.mostMs)
      }
      looked()
      const wake = new AbortController()
      wakes.set(address, wake)
      const signal = AbortSignal.any([closing.signal, wake.signal])
      // Ends early when a request has failed or the server stops.
      await delay(address.trouble === undefined ? times.wellMs : pause, undefined, {
        ref: false,
        signal,
      }).catch(() => undefined)
      if (wake.signal.aborted)
        await delay(times.leastMs, undefined, { ref: false, signal: closing.signal }).catch(() => undefined)
    }
  }

  return {
    all,
    looked,
    reached: Promise.race([answered.promise, looked]),
    inOrder(beginning) {
      const well = all.filter(({ trouble }) => trouble === undefined)
      if (well.length < 2) return [...well, ...all.filter((one) => !well.includes(one))]
      const load = ({ running, weight }: Address) => running / weight
      const byLoad = well.toSorted((a, b) => load(a) - load(b))
      const home = homeOf(well, beginning)
      const least = byLoad[0] as Address
      const first = load(home) <= load(least) + busier ? home : least
      return [first, ...byLoad.filter((one) => one !== first)]
    },
    failed(address, trouble) {
      tell(address, trouble)
      wakes.get(address)?.abort()
    },
    async close() {
      closing.abort(new Error('the server is stopping'))
      await Promise.all(watched)
    },
  }
}

/**
 * Weighted rendezvous hashing: the same beginning goes to the same address, in proportion to the weights, and when an
 * address is added or removed only its own share moves
 * (https://www.ietf.org/archive/id/draft-ietf-bess-weighted-hrw-02.html).
 */
function homeOf(addresses: readonly Address[], beginning: string): Address {
  let home = addresses[0] as Address
  let best = Number.POSITIVE_INFINITY
  for (const address of addresses) {
    const digest = hash('sha1', `${address.url}\n${beginning}`, 'buffer')
    const share = (digest.readUInt32BE(0) + 1) / 2 ** 32
    const score = -Math.log(share) / address.weight
    if (score < best) {
      best = score
      home = address
    }
  }
  return home
}
