import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import { cleanSome, maxFilesAtOnce, removeSome } from '../../storage/cold/cleaning.ts'
import {
  type ColdRecord,
  coldTotals,
  isDerived,
  maxCalls,
  moveSome,
  type Position,
} from '../../storage/cold/moving.ts'
import { coldUntil } from '../../storage/cold/reference.ts'
import type { Database } from '../../storage/database.ts'
import { projectAfter } from '../../storage/projects/turns.ts'
import { boundTo } from '../../storage/transaction.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

const day = 86_400_000_000

const firstMs = 5_000
const idleMs = 60_000
const busyMs = 50

/** How long another server waits for one that has ended, in microseconds. */
const turn = 300_000_000

/** Deletions that are soon one after the other write a file anew once. */
const cleanEveryMs = 600_000

/** Calls not ready in their time, or cut short by a kill, are looked for so often; the first time after an hour. */
const againMs = 86_400_000

interface Passing {
  project: string
  at: Position
  /** Calls of the next file. */
  most: number
}

/** Moves some calls of one project after the other, and says how many. */
export function createMoves(record: ColdRecord, afterDays: number) {
  const { bare } = record
  let wholeAt = performance.now() + againMs / 24
  let isWhole = false
  let passing: Passing | undefined
  /** Where the last file of a project failed. */
  const failed = new Map<string, Passing>()

  /** The next project in turn, and where its calls begin that were not looked at. */
  async function nextPassing(after: string): Promise<Passing | undefined> {
    const project = await projectAfter(bare, 'calls', after)
    if (project === undefined) return undefined
    const again = failed.get(project)
    if (again !== undefined && !isWhole) return again
    const until = isWhole ? undefined : await coldUntil(bare, project)
    return { project, at: { at: until ?? Number.MIN_SAFE_INTEGER, id: '' }, most: maxCalls }
  }

  return {
    isUnderway: () => passing !== undefined,
    async move(signal: AbortSignal): Promise<number> {
      if (afterDays === 0 || !(await isDerived(bare))) return 0
      if (passing === undefined) {
        isWhole = performance.now() >= wholeAt
        if (isWhole) wholeAt = performance.now() + againMs
        passing = await nextPassing('')
      }
      if (passing === undefined) return 0
      const { project, at, most } = passing
      const time = now()
      // A file that fails, such as one that a proxy does not let through, holds up no other project. The next has half of
      // its calls, and the last of them is passed over until the next whole pass.
      failed.set(project, { project, at, most: most >> 1 })
      passing = await nextPassing(project)
      const { calls, next } = await moveSome(record, project, at, time - afterDays * day, time, signal, most)
      failed.delete(project)
      if (next !== undefined) passing = { project, at: next, most: Math.min(maxCalls, 2 * most || maxCalls) }
      return calls
    },
  }
}

/** Moves the texts of old calls to the store, and removes what nothing refers to. */
export function startCold(
  db: Database,
  { afterDays, registry }: { afterDays: number; registry: Registry },
  failed: (error: unknown) => void,
): BackgroundWork[] {
  const { cold } = db
  if (cold?.store === undefined) return []
  const { bare, store, reading } = cold
  const record = { bare, store }
  const metrics = registerColdMetrics(registry, reading.counted)
  const holder = newId()
  const moves = createMoves(record, afterDays)
  let cleanAt = 0

  return [
    inBackground({
      firstMs,
      failedMs: idleMs,
      failed,
      async run(signal) {
        const time = now()
        const isOurs = await bare.write('takeColdTurn', { holder, now: time, until: time + turn })
        if (!isOurs || !moves.isUnderway()) metrics.set(await coldTotals(boundTo(bare, signal)))
        if (!isOurs) return idleMs
        const removed = await removeSome(record, time, signal)
        let cleaned = 0
        if (performance.now() >= cleanAt) {
          const last = cleanAt
          cleanAt = performance.now() + cleanEveryMs
          cleaned = await cleanSome(record, undefined, { now: time, atOnce: false }, signal)
          if (cleaned === maxFilesAtOnce) cleanAt = last
        }
        metrics.moved.inc(await moves.move(signal))
        return moves.isUnderway() || removed + cleaned > 0 ? busyMs : idleMs
      },
    }),
  ]
}

function registerColdMetrics(registry: Registry, counted: { reads: number; failures: number }) {
  const registers = [registry]
  const gauge = (name: string, help: string) => new Gauge({ name: `heddle_cold_${name}`, help, registers })
  const files = gauge('files', 'Files in the store of cold calls.')
  const calls = gauge('calls', 'Calls whose inputs and outputs are in it.')
  const bytes = gauge('bytes', 'Bytes of these files.')
  const read = (name: 'reads' | 'failures', help: string) => {
    const counter = new Counter({
      name: `heddle_cold_${name}_total`,
      help,
      registers,
      collect() {
        counter.reset()
        counter.inc(counted[name])
      },
    })
  }
  read('reads', 'Reads of the store of cold calls.')
  read('failures', 'Reads of it that failed.')
  return {
    moved: new Counter({ name: 'heddle_cold_moved_total', help: 'Calls that were moved to it.', registers }),
    set(totals: { files: number; calls: number; bytes: number }) {
      files.set(totals.files)
      calls.set(totals.calls)
      bytes.set(totals.bytes)
    },
  }
}
