import type { Database } from '../../storage/database.ts'
import { sumUp } from '../../storage/sums/keeping.ts'
import { hasMarkedHours, type MarkedHour, markedHours } from '../../storage/sums/marks.ts'
import { day, startOf } from '../../storage/sums/spans.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

const firstMs = 1_000
const failedMs = 5_000
const restMs = 2_000
/** Marks handled in one transaction. */
const marksAtOnce = { limit: 100 }
/** Hours added up at a time, all of one day. */
const hoursAtOnce = 4

/** Adds up the hours that were written, once they have not been written for a round. Until then their calls are counted. */
export function startSums(db: Database, failed: (error: unknown) => void): BackgroundWork {
  let before: ReadonlyMap<string, string> = new Map()
  return inBackground({
    firstMs,
    failedMs,
    failed,
    async run(signal) {
      if (await hasMarkedHours(db)) before = await sumRound(db, before, signal)
      return restMs
    },
  })
}

const keyOf = ({ project_id, at }: MarkedHour) => `${at} ${project_id}`

/** Adds up the hours whose marks are those of the round before. Returns the marks that are left. */
async function sumRound(
  db: Database,
  before: ReadonlyMap<string, string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  let hasMore = true
  while (hasMore && !signal.aborted) hasMore = await db.writeInBackground('markUnsummed', marksAtOnce)
  hasMore = true
  while (hasMore && !signal.aborted) hasMore = await db.writeInBackground('followMarks', marksAtOnce)
  await db.writeInBackground('thinMarks', {})
  const turn = await db.write('turnMarks', {})
  const hours = await markedHours(db, turn, signal)
  const [calm, others] = [[] as MarkedHour[], new Map<string, string>()]
  for (const hour of hours) {
    const marks = hour.marks.join()
    if (before.get(keyOf(hour)) === marks) calm.push(hour)
    else others.set(keyOf(hour), marks)
  }
  for (const [, ofDay] of Map.groupBy(calm, ({ project_id, at }) => `${startOf(at, day)} ${project_id}`)) {
    for (let at = 0; at < ofDay.length && !signal.aborted; at += hoursAtOnce) {
      const some = ofDay.slice(at, at + hoursAtOnce)
      await db.writeInBackground('keepSums', await sumUp(db, some[0]?.project_id ?? '', some, signal))
    }
  }
  return others
}

/** Adds up all that is marked now. */
export async function sumAll(db: Database, signal: AbortSignal): Promise<void> {
  await sumRound(db, await sumRound(db, new Map(), signal), signal)
}
