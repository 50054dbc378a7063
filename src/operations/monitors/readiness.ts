import { now } from '../../domain/time.ts'
import { streamCalls } from '../../storage/calls/queries.ts'
import {
  type SettledJudgement,
  statesOfCalls,
  type TakenJudgement,
} from '../../storage/monitors/judgements.ts'
import type { Monitor } from '../../storage/monitors/monitors.ts'
import type { BoundReader } from '../../storage/transaction.ts'
import { storedConditions, viewOfConditions } from './conditions.ts'

/** In bytes. Larger calls are not judged, because each judgement keeps its call in memory. */
const largestCall = 8 << 20

/** The end of a call may arrive before its start, but not by much. */
const waitForStart = [1_000_000, 10_000_000, 60_000_000, 600_000_000]

interface SortedJudgements {
  /** Their calls exist and fit the conditions of the monitor. */
  ready: TakenJudgement[]
  /** There is nothing to judge. */
  settled: SettledJudgement[]
}

/** Decides which of these judgements can be made. The conditions of the monitor are run as a query of calls. */
export async function sortByReadiness(
  db: BoundReader,
  monitor: Monitor,
  taken: readonly TakenJudgement[],
): Promise<SortedJudgements> {
  const time = now()
  const { project_id: project } = monitor
  const ids = [...new Set(taken.map(({ call_id }) => call_id))]
  const sizes = new Map<string, number>()
  const view = viewOfConditions(project, [storedConditions(monitor.conditions)], ids)
  const columns = { large: new Set<never>(), totalStorageSize: false }
  for await (const rows of streamCalls(db, view, columns, time)) {
    for (const { id, storage_size } of rows) sizes.set(id, storage_size)
  }
  const others = await statesOfCalls(
    db,
    project,
    ids.filter((id) => !sizes.has(id)),
    time,
  )
  const ready: TakenJudgement[] = []
  const settled: SettledJudgement[] = []
  for (const judgement of taken) {
    const { call_id, scorer, attempts } = judgement
    const size = sizes.get(call_id)
    if (size === undefined) {
      settled.push({ call_id, scorer, ...withoutCall(others.get(call_id), attempts, time) })
    } else if (size > largestCall) {
      const detail = `the call has more than ${largestCall} bytes`
      settled.push({ call_id, scorer, state: 'skipped', reason: 'too_large', detail })
    } else ready.push(judgement)
  }
  return { ready, settled }
}

function withoutCall(
  standing: 'live' | 'not begun' | 'gone' | undefined,
  attempts: number,
  time: number,
): Omit<SettledJudgement, 'call_id' | 'scorer'> {
  if (standing === 'live') return { state: 'other' }
  const detail = 'the call was deleted or has expired'
  if (standing !== 'not begun') return { state: 'skipped', reason: 'call_gone', detail }
  const wait = waitForStart[attempts]
  const why = { reason: 'call_not_started', detail: 'the call has an end but no start' }
  return wait === undefined
    ? { state: 'skipped', ...why }
    : { state: 'pending', ...why, due_at: time + wait, wasTried: true }
}
