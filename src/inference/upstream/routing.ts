import { hash } from 'node:crypto'
import type { Load } from './deliveries.ts'

/** An address that has read the beginning of a prompt before is worth as much as so many requests less. */
const worthOfCache = 4

/** Below this, a difference between two servers is noise. */
const minMs = 100

/** What was measured counts half after so long without a request, so that a server that was slow is tried again. */
const halfLifeMs = 60_000

/**
 * The order in which to ask addresses for a prompt with this beginning: those that work, by how long an answer there is
 * expected to take, then those that are cooling down, then those that do not answer. The address that has read the
 * beginning before is first unless another is expected to be much faster.
 */
export function orderOf<One extends Load>(all: readonly One[], beginning: string, now: number): One[] {
  const cooling = ({ coolUntil }: One) => coolUntil > now
  const well = all.filter((address) => address.fault === undefined && !cooling(address))
  const cool = all.filter((address) => address.fault === undefined && cooling(address))
  const others = [
    ...cool.toSorted((a, b) => a.coolUntil - b.coolUntil),
    ...all.filter(({ fault }) => fault !== undefined),
  ]
  const expected = (address: One) => ((address.running + 1) / address.weight) * waitOf(address, now)
  const byTime = well.toSorted((a, b) => expected(a) - expected(b))
  const [fastest] = byTime
  if (fastest === undefined || byTime.length === 1) return [...byTime, ...others]
  const home = homeOf(well, beginning)
  const most = expected(fastest) + worthOfCache * waitOf(fastest, now)
  const first = expected(home) <= most ? home : fastest
  return [first, ...byTime.filter((address) => address !== first), ...others]
}

/**
 * How long a request there waits until something comes of it: the shortest of the last waits, as one long prompt does
 * not make a server slow; or the time for which it has been silent while requests wait for it.
 */
function waitOf({ waits, waiting, lastSign }: Load, now: number): number {
  const last = waits.at(-1)
  const shortest = Math.min(...waits.map(({ ms }) => ms))
  const measured = last === undefined ? 0 : shortest * 2 ** ((last.at - now) / halfLifeMs)
  let silence = 0
  for (const { since } of waiting) {
    silence = now - Math.max(since, lastSign)
    break
  }
  return Math.max(minMs, measured, silence)
}

/**
 * Weighted rendezvous hashing: the same beginning goes to the same address, in proportion to the weights, and when an
 * address is added or removed only its own share moves
 * (https://www.ietf.org/archive/id/draft-ietf-bess-weighted-hrw-02.html).
 */
function homeOf<One extends Load>(addresses: readonly One[], beginning: string): One {
  let home = addresses[0] as One
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
