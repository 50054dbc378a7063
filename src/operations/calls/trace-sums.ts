import { batchesOf } from '../../domain/batches.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { sumUpTraces } from '../../storage/trace-sums/keeping.ts'
import { type TraceMark, traceMarks } from '../../storage/trace-sums/marks.ts'

/** Marks handled in one transaction. */
const hoursAtOnce = { limit: 100 }
/** Traces and conversations that are named, and hours, added up together. */
const namesAtOnce = 100
const [minHours, maxHours] = [2, 100]
/** Traces over many hours are added up with all of them: if these are so many times the marked ones, more go together. */
const spread = 4

const keyOf = ({ project_id, at, about, mark }: TraceMark) => JSON.stringify([project_id, at, about, mark])

/** Adds up what was marked in the round before and not since. Returns the marks that are left. */
export async function sumTraces(
  db: BoundDatabase,
  before: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  let hasMore = true
  while (hasMore && !db.signal.aborted) hasMore = await db.writeInBackground('markUntraced', hoursAtOnce)
  await db.writeInBackground('thinMarks', {})
  const turn = await db.write('turnMarks', {})
  const left = new Set<string>()
  const marks = await traceMarks(db)
  const projects = [...Map.groupBy(marks, ({ project_id }) => project_id)]
  // One that fails keeps no other waiting.
  const first = Math.floor(Math.random() * projects.length)
  for (const [project, own] of [...projects.slice(first), ...projects.slice(0, first)]) {
    const calm: TraceMark[][] = []
    for (const same of Map.groupBy(own, ({ at, about }) => `${at} ${about}`).values()) {
      const isCalm = same.every((mark) => mark.mark <= turn && before.has(keyOf(mark)))
      if (isCalm) calm.push(same)
      else for (const mark of same) left.add(keyOf(mark))
    }
    await sumProject(db, project, calm)
  }
  return left
}

async function sumProject(db: BoundDatabase, project: string, calm: readonly TraceMark[][]): Promise<void> {
  const keep = async (some: readonly TraceMark[][]) => {
    const sums = await sumUpTraces(db, project, some.flat())
    await db.writeInBackground('keepTraceSums', sums)
    return sums.hours.length
  }
  const [hours, names] = [calm.filter(isOfHour), calm.filter((same) => !isOfHour(same))]
  for (const some of batchesOf(names, namesAtOnce)) if (!db.signal.aborted) await keep(some)
  let together = minHours
  for (let at = 0; at < hours.length && !db.signal.aborted; ) {
    const some = hours.slice(at, at + together)
    at += some.length
    together = (await keep(some)) > spread * some.length ? Math.min(2 * together, maxHours) : minHours
  }
}

const isOfHour = ([mark]: readonly TraceMark[]) => mark?.about === 'traces'
