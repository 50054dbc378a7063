import { shownBytes } from '../models/memory.ts'
import { ModelError } from '../models/model-error.ts'
import type { Inside, Need } from './resident.ts'

/** How a resident makes room for another one. */
type Leave<Thing> =
  /** It is being loaded, and nothing waits for it. */
  | { by: 'cancelling'; one: Inside<Thing> }
  /** It is not in use. */
  | { by: 'closing'; one: Inside<Thing> }
  /** It is only used by background work. */
  | { by: 'giving back'; one: Inside<Thing> }
  /** Callers use it: it accepts no new ones. */
  | { by: 'yielding'; one: Inside<Thing> }
  /** It was loaded so recently that it stays for now. */
  | { by: 'staying'; one: Inside<Thing> }

const isHere = ({ phase }: Inside<unknown>) => phase === 'loading' || phase === 'in' || phase === 'leaving'

export function usedBy(all: Iterable<Inside<unknown>>): Need {
  const needs = [...all].filter(isHere).map(({ load }) => load?.need ?? { machine: 0, device: 0 })
  return {
    machine: needs.reduce((sum, { machine }) => sum + machine, 0),
    device: needs.reduce((sum, { device }) => sum + device, 0),
  }
}

export function fits(all: Iterable<Inside<unknown>>, bound: Need, need: Need): boolean {
  const taken = usedBy(all)
  return taken.machine + need.machine <= bound.machine && taken.device + need.device <= bound.device
}

/** Something larger than the whole room can never be loaded. */
export function checkBound(bound: Need, { machine, device }: Need): void {
  if (machine <= bound.machine && device <= bound.device) return
  const [need, most] = machine > bound.machine ? [machine, bound.machine] : [device, bound.device]
  throw new ModelError(
    `it needs about ${shownBytes(need)} and the models of this server may use ${shownBytes(most)} together; accepted: more HEDDLE_MODELS_MEMORY, a smaller model, or less of its context, parallel or batch.`,
  )
}

/** The fewest of the candidates, in their order, that must go. Undefined if all of them together are not enough. */
export function fewestToGo<Thing>(
  all: Iterable<Inside<Thing>>,
  bound: Need,
  need: Need,
  candidates: readonly Inside<Thing>[],
): Inside<Thing>[] | undefined {
  const staying = new Set([...all].filter(({ phase }) => phase !== 'leaving'))
  const chosen: Inside<Thing>[] = []
  for (const one of candidates) {
    if (fits(staying, bound, need)) break
    chosen.push(one)
    staying.delete(one)
  }
  return fits(staying, bound, need) ? chosen : undefined
}

/** Which residents make room, and how: first those that disturb nobody, then the least recently used. */
export function whoMakesRoom<Thing>(
  all: Iterable<Inside<Thing>>,
  bound: Need,
  need: Need,
  now: number,
): Leave<Thing>[] {
  const isBehind = ({ holds }: Inside<Thing>) => [...holds].every((hold) => hold.giveBack)
  const unwanted = [...all].filter(({ phase, waiters }) => phase === 'loading' && waiters.length === 0)
  const byUse = [...all].filter(({ phase }) => phase === 'in').sort((a, b) => a.lastAsked - b.lastAsked)
  const idle = byUse.filter(({ holds }) => holds.size === 0)
  const behind = byUse.filter((one) => one.holds.size > 0 && isBehind(one))
  const busy = byUse.filter((one) => !isBehind(one))

  function leave(one: Inside<Thing>): Leave<Thing> {
    if (one.phase === 'loading') return { by: 'cancelling', one }
    if (one.holds.size === 0) return { by: 'closing', one }
    if (isBehind(one)) return { by: 'giving back', one }
    return { by: one.staysUntil <= now ? 'yielding' : 'staying', one }
  }
  return (fewestToGo(all, bound, need, [...unwanted, ...idle, ...behind, ...busy]) ?? []).map(leave)
}
