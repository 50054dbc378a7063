import { createYieldToLoop, inSteps } from '../../../../packages/waiting/index.ts'
import { conditionOnNumbers, type Holds } from '../../../domain/evaluations/columns/conditions.ts'
import { onAxis, type ScoreColumn } from '../../../domain/evaluations/columns/distributions.ts'
import { columnNames, totalsOf } from '../../../domain/evaluations/columns/gathering.ts'
import { differencesOf, meansOf } from '../../../domain/evaluations/columns/means.ts'
import { unpackNumbers } from '../../../domain/evaluations/columns/packing.ts'
import { type SortKey, sortRows } from '../../../domain/evaluations/columns/sorting.ts'
import { evaluate } from '../../../domain/expressions/evaluate.ts'
import { type Expression, fieldsOf } from '../../../domain/expressions/expression.ts'
import { jsonField } from '../../../domain/expressions/json-field.ts'
import { textOfJson } from '../../../domain/expressions/json-value.ts'
import type { LongReader } from '../../transaction.ts'
import { boundTo } from '../../transaction.ts'
import type { EvaluationPages, ResultsView, ShapeSums } from '../evaluation-pages.ts'
import { haveSameRows } from '../row-sets.ts'
import type { EvaluationShape } from '../shapes.ts'
import { columnField, type InputOfRows, inputColumns, inputOf, scoreColumns, scoreOf } from './fields.ts'
import { type Part, readParts, type StoredEvaluation } from './reading.ts'

/** The most trials read at once; beyond that SQL is used, which takes longer but no memory. */
const maxTrials = 500_000
const stepsAtOnce = 2048

interface ColumnSources {
  db: LongReader
  view: ResultsView
  /** The evaluations of the view that have trials. */
  of: readonly StoredEvaluation[]
  shapes: readonly EvaluationShape[]
  signal: AbortSignal
}

/**
 * Answers from the columns of the evaluations, all of which are read here, without opening the trials. Undefined if they
 * lack a field that the view names, or if trials have changed meanwhile.
 */
export async function openColumns(sources: ColumnSources): Promise<EvaluationPages | undefined> {
  const { db, view, of, shapes, signal } = sources
  const { project, evaluations, filters, sort } = view
  const names =
    of.reduce((sum, { header }) => sum + header.trials, 0) > maxTrials ? undefined : namesOf(sources)
  if (names === undefined) return undefined
  const yieldToLoop = createYieldToLoop(signal)
  const asked = of.map((set, i) => ({ ...set, names: names[i] ?? [] }))
  const joined = await readParts(boundTo(db, signal), project, asked, yieldToLoop)
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
  const inputAt = (field: string, evaluation: string | null) => inputs.get(inputKey(field, evaluation))
  const scoresOf = (of: readonly Part[], field: string) =>
    of.map((set) => scoreOf(set, columnField(field)?.path ?? [], shapes))

  /** Marks the rows that satisfy all filters. */
  async function marked(): Promise<Uint8Array> {
    const marks = new Uint8Array(rowCount).fill(1)
    for (const { query, evaluation } of filters) {
      const own = new Uint8Array(rowCount)
      const kind = kindOf(query)
      for (const set of inScope(sets, evaluation)) {
        const known = new Map(
          kind === 'scores'
            ? fieldsOf(query).map((field) => [field, scoresOf([set], field)[0]?.numbers])
            : [],
        )
        const holds: Holds | undefined =
          kind === 'scores'
            ? conditionOnNumbers(query, { of: (field) => known.get(field), countTruths: true })
            : kind === 'numbers'
              ? conditionOnNumbers(query, {
                  of: (field) => inputAt(field, evaluation)?.numbers,
                  countTruths: false,
                })
              : (row) =>
                  evaluate(query, (field) => jsonField(inputAt(field, evaluation)?.tokens?.[row] || null, []))
        const rows = kind === 'scores' ? set.rows : set.indexes
        for (let i = 0; i < rows.length; i++) {
          const row = rows[i] as number
          if (own[row] === 0 && holds?.(kind === 'scores' ? i : row) === true) own[row] = 1
          const pause = i % stepsAtOnce === 0 ? yieldToLoop() : undefined
          if (pause) await pause
        }
      }
      for (let row = 0; row < rowCount; row++) marks[row] = (marks[row] as number) & (own[row] as number)
    }
    return marks
  }

  const satisfying = await marked()
  /** Marks the rows of the view. */
  function shown(intersect: boolean): Uint8Array {
    if (!intersect) return satisfying
    const has = new Int32Array(rowCount)
    for (const { indexes } of sets) for (const row of indexes) has[row] = (has[row] as number) + 1
    return satisfying.map((mark, row) => mark & Number(has[row] === evaluations.length))
  }
  function rowsOf(marks: Uint8Array): Int32Array {
    const rows = new Int32Array(rowCount)
    let count = 0
    for (let row = 0; row < rowCount; row++) if (marks[row] === 1) rows[count++] = row
    return rows.subarray(0, count)
  }

  function keys(): SortKey[] {
    return sort.map(({ field, direction, evaluation, mode }): SortKey => {
      const input = inputAt(field, evaluation)
      if (input !== undefined) {
        const texts = input.tokens?.map((token) => (token === '' ? '' : textOfJson(token)))
        return { numbers: input.numbers, direction, ...(texts && { texts }) }
      }
      const isDifference = mode === 'difference' && evaluations.length > 1
      if (!isDifference)
        return { numbers: meansOf(rowCount, scoresOf(inScope(sets, evaluation), field)), direction }
      const isMissing = sets.length < evaluations.length
      const none = () => new Float64Array(rowCount).fill(Number.NaN)
      return { numbers: isMissing ? none() : differencesOf(rowCount, scoresOf(sets, field)), direction }
    })
  }

  return {
    async page({ limit, offset }, atOnce) {
      const rows = rowsOf(shown(view.intersect))
      const end = limit === null ? rows.length : Math.min(offset + limit, rows.length)
      const sorted = (await sortRows(rows, keys(), yieldToLoop, end)).subarray(offset, end)
      function* batches() {
        for (let from = 0; from < sorted.length; from += atOnce) {
          yield Array.from(sorted.subarray(from, from + atOnce), (row) => digests.at(row))
        }
      }
      return { total: rows.length, digests: batches() }
    },

    count: async (intersect) => rowsOf(shown(intersect)).length,

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
        const [score] = scoresOf([set], sort[0]?.field ?? '')
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

/** The sums of all trials, from the headers; undefined if the view leaves some out. */
export function wholeSums(
  { evaluations, filters, sumsIntersect }: ResultsView,
  of: readonly StoredEvaluation[],
): ShapeSums[] | undefined {
  const haveAllRows = of.length === evaluations.length && haveSameRows(of)
  if (filters.length > 0 || (sumsIntersect === true && !haveAllRows)) return undefined
  return of.flatMap(({ evaluation_id, header }) =>
    header.shapes.map((totals) => ({ evaluation_id, first_row: header.first, ...totals })),
  )
}

function inScope<T extends StoredEvaluation>(some: readonly T[], evaluation: string | null): T[] {
  return some.filter(({ evaluation_id }) => evaluation === null || evaluation_id === evaluation)
}

/** For each evaluation, the columns with what the view names; undefined if some of it is in no column. */
function namesOf({ view, of, shapes }: ColumnSources): Set<string>[] | undefined {
  const names = of.map(() => new Set<string>())
  /** Returns whether the columns contain a field of the evaluations in this scope. */
  function asks(field: string, evaluation: string | null, needsTexts: boolean): boolean {
    const known = columnField(field)
    if (known === undefined) return false
    const scope = inScope(of, evaluation)
    const found =
      known.document === 'scores'
        ? scope.map(({ header }) => scoreColumns(header, known.path, shapes))
        : (inputColumns(scope, known.path[0] as string, needsTexts) ?? [undefined])
    for (const [i, own] of found.entries()) {
      if (own === undefined) return false
      for (const name of own) names[of.indexOf(scope[i] as StoredEvaluation)]?.add(name)
    }
    return true
  }
  const areFiltersKnown = view.filters.every(({ query, evaluation }) => {
    const kind = kindOf(query)
    return kind !== undefined && fieldsOf(query).every((field) => asks(field, evaluation, kind === 'values'))
  })
  const areSortsKnown = view.sort.every(({ field, evaluation, mode }) =>
    asks(field, mode === 'difference' ? null : evaluation, false),
  )
  if (!areFiltersKnown || !areSortsKnown) return undefined
  if (view.sumsIntersect !== null && wholeSums(view, of) === undefined) {
    for (const [i, { header }] of of.entries()) {
      for (let slot = 0; slot < header.slots; slot++) names[i]?.add(columnNames.slot(slot))
    }
  }
  return names
}

/** The members of rows that the view names, with the evaluations whose rows are meant. */
function inputsOf({ filters, sort }: ResultsView): [string, string | null][] {
  const named = [
    ...filters.flatMap(({ query, evaluation }) => fieldsOf(query).map((field) => ({ field, evaluation }))),
    ...sort,
  ]
  return named
    .filter(({ field }) => columnField(field)?.document === 'inputs')
    .map(({ field, evaluation }) => [field, evaluation])
}

/** What a filter is about; undefined if it involves more than the columns contain. */
function kindOf(query: Expression): 'scores' | 'numbers' | 'values' | undefined {
  const documents = new Set(fieldsOf(query).map((field) => columnField(field)?.document))
  const [document, ...others] = documents
  if (document === undefined || others.length > 0) return undefined
  const none = new Float64Array()
  const readsNumbers = (countTruths: boolean) =>
    conditionOnNumbers(query, { of: () => none, countTruths }) !== undefined
  if (document === 'scores') return readsNumbers(true) ? 'scores' : undefined
  return readsNumbers(false) ? 'numbers' : 'values'
}
