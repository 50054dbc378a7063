import { createYieldToLoop, inSteps } from '../../../../packages/waiting/index.ts'
import { conditionOnNumbers, type Holds } from '../../../domain/evaluations/columns/conditions.ts'
import { onAxis, type ScoreColumn } from '../../../domain/evaluations/columns/distributions.ts'
import { columnNames, totalsOf } from '../../../domain/evaluations/columns/gathering.ts'
import { differencesOf, meansOf } from '../../../domain/evaluations/columns/means.ts'
import { unpackNumbers } from '../../../domain/evaluations/columns/packing.ts'
import { type SortKey, sortRows } from '../../../domain/evaluations/columns/sorting.ts'
import { evaluate } from '../../../domain/expressions/evaluate.ts'
import { fieldsOf } from '../../../domain/expressions/expression.ts'
import { jsonField } from '../../../domain/expressions/json-field.ts'
import { textOfJson } from '../../../domain/expressions/json-value.ts'
import type { BoundReader } from '../../transaction.ts'
import type { EvaluationPages, ResultsView, ShapeSums } from '../evaluation-pages.ts'
import type { EvaluationShape } from '../shapes.ts'
import { columnField, type InputOfRows, inputOf, scoreOf } from './fields.ts'
import { inputsOf, inScope, kindOf, namesOf, wholeSums } from './named-columns.ts'
import { type Part, readParts, type StoredEvaluation } from './reading.ts'

/** The most trials read at once; beyond that SQL is used, which takes longer but no memory. */
const maxTrials = 500_000
const stepsAtOnce = 2048

interface ColumnSources {
  db: BoundReader
  view: ResultsView
  /** The evaluations of the view that have trials. */
  of: readonly StoredEvaluation[]
  shapes: readonly EvaluationShape[]
}

/**
 * Answers from the columns of the evaluations, all of which are read here, without opening the trials. Undefined if they
 * lack a field that the view names, or if trials have changed meanwhile.
 */
export async function openColumns(sources: ColumnSources): Promise<EvaluationPages | undefined> {
  const opened = await openRows(sources)
  if (opened === undefined) return undefined
  const { view, of } = sources
  const { sets, digests, rowCount, scoresOf, yieldToLoop } = opened
  const satisfying = await satisfyingRows(opened, view)

  /** Marks the rows of the view. */
  function shown(intersect: boolean): Uint8Array {
    if (!intersect) return satisfying
    const has = new Int32Array(rowCount)
    for (const { indexes } of sets) for (const row of indexes) has[row] = (has[row] as number) + 1
    return satisfying.map((mark, row) => mark & Number(has[row] === view.evaluations.length))
  }

  return {
    async page({ limit, offset }, atOnce) {
      const rows = markedRows(shown(view.intersect))
      const end = limit === null ? rows.length : Math.min(offset + limit, rows.length)
      const keys = view.sort.map((sort) => sortKey(opened, view, sort))
      const sorted = (await sortRows(rows, keys, yieldToLoop, end)).subarray(offset, end)
      function* batches() {
        for (let from = 0; from < sorted.length; from += atOnce) {
          yield Array.from(sorted.subarray(from, from + atOnce), (row) => digests.at(row))
        }
      }
      return { total: rows.length, digests: batches() }
    },

    count: async (intersect) => markedRows(shown(intersect)).length,

    async sums(intersect) {
      const known = wholeSums(view, of)
      if (known !== undefined) return known
      const marks = shown(intersect)
      const sums: ShapeSums[] = []
      for (const { evaluation_id, header, rows, columns } of sets) {
        const trials = rows.map((_, trial) => trial).filter((trial) => marks[rows[trial] as number] === 1)
        const first = trials.reduce((least, trial) => Math.min(least, rows[trial] as number), rowCount)
        const kinds = header.shapes.map(({ shape }) => shape)
        for (const totals of await totalsOf(kinds, columns, trials, yieldToLoop)) {
          sums.push({ evaluation_id, first_row: digests.at(first), ...totals })
        }
      }
      return sums
    },

    async scores() {
      const marks = shown(view.intersect)
      const areAllShown = !marks.includes(0)
      const columns: ScoreColumn[] = []
      const add = (set: Part) => {
        const [score] = scoresOf([set], view.sort[0]?.field ?? '')
        const numbers = score?.numbers.map(onAxis) ?? new Float64Array()
        const failed = unpackNumbers(set.columns.get(columnNames.failed) as Uint8Array)
        const isShown = (_: number, trial: number) => marks[set.rows[trial] as number] === 1
        const only = <T extends Int32Array | Float64Array>(all: T) =>
          (areAllShown ? all : all.filter(isShown)) as T
        columns.push({
          ...{ evaluation: set.evaluation_id, rows: only(set.rows) },
          ...{ numbers: only(numbers), failed: only(failed) },
        })
      }
      await inSteps(sets, add, yieldToLoop)
      return { columns, rowCount }
    },
  }
}

type OpenedRows = NonNullable<Awaited<ReturnType<typeof openRows>>>

/** The rows of the evaluations with everything that the view names. */
async function openRows({ db, view, of, shapes }: ColumnSources) {
  const trialCount = of.reduce((sum, { header }) => sum + header.trials, 0)
  const names = trialCount > maxTrials ? undefined : namesOf(view, of, shapes)
  if (names === undefined) return undefined
  const yieldToLoop = createYieldToLoop(db.signal)
  const wanted = of.map((set, i) => ({ ...set, names: names[i] ?? [] }))
  const joined = await readParts(db, view.project, wanted, yieldToLoop)
  if (joined === undefined) return undefined
  const { sets, digests } = joined
  const rowCount = digests.length
  const inputs = new Map<string, InputOfRows>()
  const inputKey = (field: string, evaluation: string | null) => JSON.stringify([field, evaluation])
  for (const [field, evaluation] of inputsOf(view)) {
    const input = inputOf(inScope(sets, evaluation), columnField(field)?.path[0] ?? '', rowCount)
    if (input === undefined) return undefined
    inputs.set(inputKey(field, evaluation), input)
  }
  return {
    ...{ sets, digests, rowCount, yieldToLoop },
    inputAt: (field: string, evaluation: string | null) => inputs.get(inputKey(field, evaluation)),
    scoresOf: (some: readonly Part[], field: string) =>
      some.map((set) => scoreOf(set, columnField(field)?.path ?? [], shapes)),
  }
}

/** Marks the rows that satisfy all filters: each in at least one of the evaluations that it is about. */
async function satisfyingRows(opened: OpenedRows, { filters }: ResultsView): Promise<Uint8Array> {
  const { sets, rowCount, yieldToLoop } = opened
  const marks = new Uint8Array(rowCount).fill(1)
  for (const filter of filters) {
    const satisfying = new Uint8Array(rowCount)
    // Scores are by trial, inputs by row.
    const isOfTrials = kindOf(filter.query) === 'scores'
    for (const set of inScope(sets, filter.evaluation)) {
      const holds = conditionOf(opened, set, filter)
      const rows = isOfTrials ? set.rows : set.indexes
      for (let i = 0; i < rows.length; i++) {
        const row = rows[i] as number
        if (satisfying[row] === 0 && holds?.(isOfTrials ? i : row) === true) satisfying[row] = 1
        const pause = i % stepsAtOnce === 0 ? yieldToLoop() : undefined
        if (pause) await pause
      }
    }
    for (let row = 0; row < rowCount; row++) marks[row] = (marks[row] as number) & (satisfying[row] as number)
  }
  return marks
}

/** The condition of a filter: on the trials of the set if it is about scores, otherwise on rows. */
function conditionOf(
  { inputAt, scoresOf }: OpenedRows,
  set: Part,
  { query, evaluation }: ResultsView['filters'][number],
): Holds | undefined {
  const kind = kindOf(query)
  if (kind === 'scores') {
    const numbers = new Map(fieldsOf(query).map((field) => [field, scoresOf([set], field)[0]?.numbers]))
    return conditionOnNumbers(query, { of: (field) => numbers.get(field), countTruths: true })
  }
  if (kind === 'numbers') {
    const numbersOf = (field: string) => inputAt(field, evaluation)?.numbers
    return conditionOnNumbers(query, { of: numbersOf, countTruths: false })
  }
  return (row) => evaluate(query, (field) => jsonField(inputAt(field, evaluation)?.tokens?.[row] || null, []))
}

function sortKey(
  { sets, rowCount, inputAt, scoresOf }: OpenedRows,
  { evaluations }: ResultsView,
  { field, direction, evaluation, mode }: ResultsView['sort'][number],
): SortKey {
  const input = inputAt(field, evaluation)
  if (input !== undefined) {
    const texts = input.tokens?.map((token) => (token === '' ? '' : textOfJson(token)))
    return { numbers: input.numbers, direction, ...(texts && { texts }) }
  }
  if (mode !== 'difference' || evaluations.length === 1)
    return { numbers: meansOf(rowCount, scoresOf(inScope(sets, evaluation), field)), direction }
  const isMissing = sets.length < evaluations.length
  const numbers = isMissing
    ? new Float64Array(rowCount).fill(Number.NaN)
    : differencesOf(rowCount, scoresOf(sets, field))
  return { numbers, direction }
}

function markedRows(marks: Uint8Array): Int32Array {
  const rows = new Int32Array(marks.length)
  let count = 0
  for (let row = 0; row < marks.length; row++) if (marks[row] === 1) rows[count++] = row
  return rows.subarray(0, count)
}
