import { batchesOf } from '../../domain/batches.ts'
import type { BoundDatabase, Database } from '../../storage/database.ts'
import { newPass, sumUp, sumUpDay } from '../../storage/sums/keeping.ts'
import { hasMarkedHours, type MarkedHour, markedHours, stillMarked } from '../../storage/sums/marks.ts'
import { nextRepricing } from '../../storage/sums/priced.ts'
import { day, startOf } from '../../storage/sums/spans.ts'
import { sumUpTraces } from '../../storage/trace-sums/keeping.ts'
import { type TraceMark, traceMarks } from '../../storage/trace-sums/marks.ts'
import { boundTo } from '../../storage/transaction.ts'
import { type BackgroundWork, inBackground } from '../background.ts'

const firstMs = 1_000
const failedMs = 5_000
const restMs = 2_000
/** Marks handled in one transaction. */
const marksAtOnce = { limit: 100 }
/** Hours added up at a time, all of one day. */
const hoursAtOnce = 4
/** Sums of several hours that are stored in one transaction. */
const maxTogether = 5_000
/** Traces and conversations that are named, and hours, added up together. */
const namesAtOnce = 100
const [minHours, maxHours] = [2, 100]
/** Traces over many hours are added up with all of them: if these are so many times the marked ones, more go together. */
const spread = 4

/** Adds up the hours that were written, once they have not been written for a round. Until then their calls are counted. */
export function startSums(db: Database, failed: (error: unknown) => void): BackgroundWork {
  let before: ReadonlyMap<string, string> = new Map()
  let tracesBefore: ReadonlySet<string> = new Set()
  return inBackground({
    firstMs,
    failedMs,
    failed,
    async run(signal) {
      if (await hasMarkedHours(db)) before = await sumRound(boundTo(db, signal), before)
      if (await hasMarkedHours(db)) tracesBefore = await sumTraces(boundTo(db, signal), tracesBefore)
      return restMs
    },
  })
}

async function markAll(
  db: BoundDatabase,
  work: 'markUnsummed' | 'followMarks' | 'markUntraced',
): Promise<void> {
  let hasMore = true
  while (hasMore && !db.signal.aborted) hasMore = await db.writeInBackground(work, marksAtOnce)
}

/** Servers that share a record begin at different ones, and so share the work. One that fails keeps no other waiting. */
function fromAnywhere<Entry>(all: readonly Entry[]): Entry[] {
  const first = Math.floor(Math.random() * all.length)
  return [...all.slice(first), ...all.slice(0, first)]
}

const keyOf = ({ project_id, at }: MarkedHour) => `${at} ${project_id}`

/** Adds up the hours whose marks are those of the round before. Returns the marks that are left. */
async function sumRound(
  db: BoundDatabase,
  before: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> {
  await markAll(db, 'markUnsummed')
  await markAll(db, 'followMarks')
  await db.writeInBackground('thinMarks', {})
  const turn = await db.write('turnMarks', {})
  const repricing = await nextRepricing(db, turn)
  if (repricing !== undefined) await db.writeInBackground('markRepriced', repricing)
  const hours = await markedHours(db, turn)
  const [calm, others] = [[] as MarkedHour[], new Map<string, string>()]
  for (const hour of hours) {
    const marks = hour.marks.join()
    if (before.get(keyOf(hour)) === marks) calm.push(hour)
    else others.set(keyOf(hour), marks)
  }
  const days = [...Map.groupBy(calm, ({ project_id, at }) => `${startOf(at, day)} ${project_id}`).values()]
  for (const ofDay of fromAnywhere(days)) {
    if (db.signal.aborted) return others
    const left = await stillMarked(db, ofDay)
    if (left.length > 0) await sumDay(db, left)
  }
  return others
}

/** Its own sums are added up once, after the last of its hours. */
async function sumDay(db: BoundDatabase, ofDay: readonly MarkedHour[]): Promise<void> {
  const [{ project_id, at: first } = { project_id: '', at: 0 }] = ofDay
  const pass = newPass()
  for (let n = 0; n < ofDay.length; n += hoursAtOnce) {
    if (db.signal.aborted) return
    const some = ofDay.slice(n, n + hoursAtOnce)
    const sums = await sumUp(db, project_id, some)
    const writes = sums.length > maxTogether ? some.map((hour) => [hour]) : [some]
    for (const hours of writes) {
      const own = sums.filter((sum) => hours.some(({ at }) => at === sum.at))
      await db.writeInBackground('keepSums', { project_id, pass, hours, sums: own })
    }
  }
  const at = startOf(first, day)
  const sums = await sumUpDay(db, project_id, at)
  await db.writeInBackground('keepDay', { project_id, pass, at, sums })
}

const markKeyOf = ({ project_id, at, about, mark }: TraceMark) =>
  JSON.stringify([project_id, at, about, mark])

/** Adds up what was marked in the round before and not since. Returns the marks that are left. */
export async function sumTraces(
  db: BoundDatabase,
  before: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  await markAll(db, 'markUntraced')
  await db.writeInBackground('thinMarks', {})
  const turn = await db.write('turnMarks', {})
  const left = new Set<string>()
  const marks = await traceMarks(db)
  const projects = [...Map.groupBy(marks, ({ project_id }) => project_id)]
  for (const [project, own] of fromAnywhere(projects)) {
    const calm: TraceMark[][] = []
    for (const same of Map.groupBy(own, ({ at, about }) => `${at} ${about}`).values()) {
      const isCalm = same.every((mark) => mark.mark <= turn && before.has(markKeyOf(mark)))
      if (isCalm) calm.push(same)
      else for (const mark of same) left.add(markKeyOf(mark))
    }
    await sumTracesOf(db, project, calm)
  }
  return left
}

async function sumTracesOf(db: BoundDatabase, project: string, calm: readonly TraceMark[][]): Promise<void> {
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

/** Adds up all that is marked now. */
export async function sumAll(db: BoundDatabase): Promise<void> {
  await sumRound(db, await sumRound(db, new Map()))
  await sumTraces(db, await sumTraces(db, new Set()))
}
