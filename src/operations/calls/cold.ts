import { Counter, Gauge, type Registry } from '@prometheus-io/client'
import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import { cleanSome, maxFilesAtOnce, removeSome } from '../../storage/cold/cleaning.ts'
import {
  coldTotals,
  isDerived,
  moveSome,
  nextProjectOfCalls,
  type Position,
} from '../../storage/cold/moving.ts'
import { coldUntil } from '../../storage/cold/reference.ts'
import type { Database } from '../../storage/database.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

const day = 86_400_000_000

const firstMs = 5_000
const idleMs = 60_000
const busyMs = 50

/** How long another server waits for one that has ended, in microseconds. */
const turn = 300_000_000

/** Deletions that are soon one after the other write a file anew once. */
const cleanEveryMs = 600_000

/** Calls that were not ready when their time came are looked for so often. */
const againMs = 86_400_000

interface Passing {
  project: string
  at: Position
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
  let cleanAt = 0
  let wholeAt = performance.now() + againMs
  let isWhole = false
  let passing: Passing | undefined

  /** The next project in turn, and where its calls begin that were not looked at. */
  async function nextPassing(after: string): Promise<Passing | undefined> {
    const project = await nextProjectOfCalls(bare, after)
    if (project === undefined) return undefined
    const until = isWhole ? undefined : await coldUntil(bare, project)
    return { project, at: { at: until ?? Number.MIN_SAFE_INTEGER, id: '' } }
  }

  async function move(signal: AbortSignal): Promise<boolean> {
    if (afterDays === 0 || !(await isDerived(bare))) return false
    if (passing === undefined) {
      isWhole = performance.now() >= wholeAt
      if (isWhole) wholeAt = performance.now() + againMs
      passing = await nextPassing('')
    }
    if (passing === undefined) return false
    const { project, at } = passing
    const time = now()
    // A batch that fails, such as one that a proxy does not let through, holds up no other project.
    passing = await nextPassing(project)
    const { calls, next } = await moveSome(record, project, at, time - afterDays * day, time, signal)
    metrics.moved.inc(calls)
    if (next !== undefined) passing = { project, at: next }
    return passing !== undefined
  }

  return [
    inBackground({
      firstMs,
      failedMs: idleMs,
      failed,
      async run(signal) {
        const time = now()
        const isOurs = await bare.write('takeColdTurn', { holder, now: time, until: time + turn })
        if (!isOurs || passing === undefined) metrics.set(await coldTotals(bare, signal))
        if (!isOurs) return idleMs
        const removed = await removeSome(record, time, signal)
        let cleaned = 0
        if (performance.now() >= cleanAt) {
          const last = cleanAt
          cleanAt = performance.now() + cleanEveryMs
          cleaned = await cleanSome(record, undefined, { now: time, atOnce: false }, signal)
          if (cleaned === maxFilesAtOnce) cleanAt = last
        }
        const isMoving = await move(signal)
        return isMoving || removed + cleaned > 0 ? busyMs : idleMs
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
