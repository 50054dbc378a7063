import { ModelError, shownBytes } from '../../../packages/engine/index.ts'
import type { MemoryUse, ResidentEntry } from './resident.ts'

/** How a resident makes room for another one. */
type Eviction<Thing> =
  /** It is being loaded, and nothing waits for it. */
  | { by: 'cancelling'; entry: ResidentEntry<Thing> }
  /** It is not in use. */
  | { by: 'closing'; entry: ResidentEntry<Thing> }
  /** It is only used by background work. */
  | { by: 'giving back'; entry: ResidentEntry<Thing> }
  /** Callers use it: it accepts no new ones. */
  | { by: 'yielding'; entry: ResidentEntry<Thing> }
  /** It was loaded so recently that it stays for now. */
  | { by: 'staying'; entry: ResidentEntry<Thing> }

const isHere = ({ phase }: ResidentEntry<unknown>) =>
  phase === 'loading' || phase === 'in' || phase === 'leaving'

export function memoryUsedBy(all: Iterable<ResidentEntry<unknown>>): MemoryUse {
  const needs = [...all].filter(isHere).map(({ load }) => load?.need ?? { machine: 0, device: 0 })
  return {
    machine: needs.reduce((sum, { machine }) => sum + machine, 0),
    device: needs.reduce((sum, { device }) => sum + device, 0),
  }
}

export function fits(all: Iterable<ResidentEntry<unknown>>, bound: MemoryUse, need: MemoryUse): boolean {
  const taken = memoryUsedBy(all)
  return taken.machine + need.machine <= bound.machine && taken.device + need.device <= bound.device
}

/** Something larger than the whole room can never be loaded. */
export function checkBound(bound: MemoryUse, { machine, device }: MemoryUse): void {
  if (machine <= bound.machine && device <= bound.device) return
  const [needed, accepted] = machine > bound.machine ? [machine, bound.machine] : [device, bound.device]
  throw new ModelError(
    `it needs about ${shownBytes(needed)} and the models of this server may use ${shownBytes(accepted)} together; accepted: more HEDDLE_MODELS_MEMORY, a smaller model, or less of its context, parallel or batch.`,
  )
}

/** The fewest of the candidates, in their order, that must go. Undefined if all of them together are not enough. */
export function fewestEvictions<Thing>(
  all: Iterable<ResidentEntry<Thing>>,
  bound: MemoryUse,
  need: MemoryUse,
  candidates: readonly ResidentEntry<Thing>[],
): ResidentEntry<Thing>[] | undefined {
  const staying = new Set([...all].filter(({ phase }) => phase !== 'leaving'))
  const chosen: ResidentEntry<Thing>[] = []
  for (const entry of candidates) {
    if (fits(staying, bound, need)) break
    chosen.push(entry)
    staying.delete(entry)
  }
  return fits(staying, bound, need) ? chosen : undefined
}

/** Which residents make room, and how: first those that disturb nobody, then the least recently used. */
export function chooseEvictions<Thing>(
  all: Iterable<ResidentEntry<Thing>>,
  bound: MemoryUse,
  need: MemoryUse,
  now: number,
): Eviction<Thing>[] {
  const isBehind = ({ holds }: ResidentEntry<Thing>) => [...holds].every((hold) => hold.giveBack)
  const unwanted = [...all].filter(({ phase, waiters }) => phase === 'loading' && waiters.length === 0)
  const byUse = [...all].filter(({ phase }) => phase === 'in').sort((a, b) => a.lastAsked - b.lastAsked)
  const idle = byUse.filter(({ holds }) => holds.size === 0)
  const behind = byUse.filter((entry) => entry.holds.size > 0 && isBehind(entry))
  const busy = byUse.filter((entry) => !isBehind(entry))

  function leave(entry: ResidentEntry<Thing>): Eviction<Thing> {
    if (entry.phase === 'loading') return { by: 'cancelling', entry }
    if (entry.holds.size === 0) return { by: 'closing', entry }
    if (isBehind(entry)) return { by: 'giving back', entry }
    return { by: entry.staysUntil <= now ? 'yielding' : 'staying', entry }
  }
  return (fewestEvictions(all, bound, need, [...unwanted, ...idle, ...behind, ...busy]) ?? []).map(leave)
}
