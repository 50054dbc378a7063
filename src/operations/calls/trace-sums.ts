import { batchesOf } from '../../domain/batches.ts'
import type { Database } from '../../storage/database.ts'
import { sumUpTraces } from '../../storage/trace-sums/keeping.ts'
import { type TraceMark, traceMarks } from '../../storage/trace-sums/marks.ts'

/** Marks handled in one transaction. */
const hoursAtOnce = { limit: 100 }
/** Traces and conversations that are named, and hours, added up together. */
const namesAtOnce = 100
const hoursTogether = 2

const keyOf = ({ project_id, at, about, mark }: TraceMark) => JSON.stringify([project_id, at, about, mark])

/** Adds up what was marked in the round before and not since. Returns the marks that are left. */
export async function sumTraces(
  db: Database,
  before: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  let hasMore = true
  while (hasMore && !signal.aborted) hasMore = await db.writeInBackground('markUntraced', hoursAtOnce)
  await db.writeInBackground('thinMarks', {})
  const turn = await db.write('turnMarks', {})
  const left = new Set<string>()
  const marks = await traceMarks(db, signal)
  for (const [project, own] of Map.groupBy(marks, ({ project_id }) => project_id)) {
    const calm: TraceMark[][] = []
    for (const same of Map.groupBy(own, ({ at, about }) => `${at} ${about}`).values()) {
      const isCalm = same.every((mark) => mark.mark <= turn && before.has(keyOf(mark)))
      if (isCalm) calm.push(same)
      else for (const mark of same) left.add(keyOf(mark))
    }
    const [hours, names] = [calm.filter(isOfHour), calm.filter((same) => !isOfHour(same))]
    for (const some of [...batchesOf(names, namesAtOnce), ...batchesOf(hours, hoursTogether)]) {
      if (signal.aborted) return left
      const sums = await sumUpTraces(db, project, some.flat(), signal)
      if (!(await db.writeInBackground('keepTraceSums', sums)))
        for (const mark of some.flat()) left.add(keyOf(mark))
    }
  }
  return left
}

const isOfHour = ([mark]: readonly TraceMark[]) => mark?.about === 'traces'
