import { conditionOnNumbers, type Holds } from '../../../domain/evaluations/columns/conditions.ts'
import { onAxis, type ScoreColumn } from '../../../domain/evaluations/columns/distributions.ts'
import type { SortKey } from '../../../domain/evaluations/columns/first-rows.ts'
import { columnNames } from '../../../domain/evaluations/columns/gathering.ts'
import { differencesOf, meansOf } from '../../../domain/evaluations/columns/means.ts'
import { type PackedTexts, unpackNumbers } from '../../../domain/evaluations/columns/packing.ts'
import { sortRows } from '../../../domain/evaluations/columns/sorting.ts'
import { evaluate } from '../../../domain/expressions/evaluate.ts'
import { type Expression, fieldsOf } from '../../../domain/expressions/expression.ts'
import { jsonField } from '../../../domain/expressions/json-field.ts'
import { textOfJson } from '../../../domain/expressions/json-value.ts'
import { createYieldToLoop } from '../../../domain/yielding.ts'
import type { LongReader } from '../../transaction.ts'
import type { ResultsFilter } from '../result-fields.ts'
import type { ResultsSort } from '../result-order.ts'
import type { RowSet } from '../row-sets.ts'
import type { ScoreReader } from '../score-views.ts'
import type { EvaluationShape } from '../shapes.ts'
import { columnField, inputColumns, inputOf, scoreColumns, scoreOf } from './fields.ts'
import type { StoredHeader } from './gather.ts'
import { type JoinedParts, joinParts, type Part, type StoredEvaluation } from './parts.ts'
import { readColumns } from './reading.ts'
import { scoresOfColumns } from './scores.ts'
import { addUp, type ColumnSums } from './sums.ts'

/** The most trials read at once; beyond that SQL is used, which takes longer but no memory. */
const mostTrials = 500_000
const stepsAtOnce = 2048

interface ColumnSources {
  db: LongReader
  view: {
    project: string
    evaluations: readonly string[]
    filters: readonly ResultsFilter[]
    sort: readonly ResultsSort[]
  }
  /** Of the evaluations that have trials. */
  sets: readonly RowSet[]
  headers: ReadonlyMap<string, StoredHeader>
  shapes: readonly EvaluationShape[]
  signal: AbortSignal
}

interface OrderedRows {
  rows: Int32Array
  /** The number of rows of the view. */
  total: number
  digests: PackedTexts
}

/**
 * Reads the rows of some evaluations from their columns, without opening the trials. Undefined if the columns are out
 * of date, or lack a requested field. Later reads also return undefined if trials have changed meanwhile.
 */
export function planColumns({ db, view, sets, headers, shapes, signal }: ColumnSources) {
  const { project, evaluations, filters, sort } = view
  const of = sets.flatMap((set): StoredEvaluation[] => {
    const header = headers.get(set.evaluation_id)
    return header === undefined ? [] : [{ set, header }]
  })
  const trials = of.reduce((sum, { header }) => sum + header.trials, 0)
  if (of.length === 0 || of.length < sets.length || trials > mostTrials) return undefined
  const yieldToLoop = createYieldToLoop(signal)
  const inScope = <T extends StoredEvaluation>(some: readonly T[], evaluation: string | null) =>
    some.filter(({ set }) => evaluation === null || set.evaluation_id === evaluation)

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
  const filterKinds = filters.map(({ query, evaluation }) => {
    const kind = kindOf(query)
    return kind && fieldsOf(query).every((field) => asks(field, evaluation, kind === 'values'))
      ? kind
      : undefined
  })
  const canFilter = filterKinds.every((kind) => kind !== undefined)
  const canSort =
    canFilter &&
    sort.every(({ field, evaluation, mode }) => asks(field, mode === 'difference' ? null : evaluation, false))

  let joining: Promise<JoinedParts | undefined> | undefined
  const joined = () => {
    joining ??= joinParts(
      db,
      project,
      of.map((one, i) => ({ ...one, names: [...(names[i] ?? [])] })),
      signal,
      yieldToLoop,
    )
    return joining
  }

  /** The rows that satisfy all filters; undefined means all. */
  async function marked({ parts, digests }: JoinedParts): Promise<Uint8Array | undefined | 'unknown'> {
    if (filters.length === 0) return undefined
    let left: Uint8Array | undefined
    for (const [i, { query, evaluation }] of filters.entries()) {
      const own = await satisfying(query, filterKinds[i], inScope(parts, evaluation), digests.length)
      if (own === undefined) return 'unknown'
      const before: Uint8Array | undefined = left
      left = before === undefined ? own : own.map((mark, row) => mark & (before[row] as number))
    }
    return left
  }

  async function satisfying(
    query: Expression,
    kind: FilterKind | undefined,
    parts: readonly Part[],
    rowCount: number,
  ): Promise<Uint8Array | undefined> {
    const marks = new Uint8Array(rowCount)
    if (kind === 'scores') {
      for (const part of parts) {
        const known = new Map(
          fieldsOf(query).map((field) => [
            field,
            scoreOf(part, columnField(field)?.path ?? [], shapes).numbers,
          ]),
        )
        const holds = conditionOnNumbers(query, { of: (field) => known.get(field), countTruths: true })
        for (let i = 0; i < part.rows.length; i++) {
          const row = part.rows[i] as number
          if (marks[row] === 0 && holds?.(i) === true) marks[row] = 1
          const pause = pauseAt(i)
          if (pause) await pause
        }
      }
      return marks
    }
    const inputs = new Map<string, NonNullable<ReturnType<typeof inputOf>>>()
    for (const field of fieldsOf(query)) {
      const input = inputOf(parts, columnField(field)?.path[0] ?? '', rowCount)
      if (input === undefined) return undefined
      inputs.set(field, input)
    }
    const holds: Holds | undefined =
      kind === 'numbers'
        ? conditionOnNumbers(query, { of: (field) => inputs.get(field)?.numbers, countTruths: false })
        : (row) => evaluate(query, (field) => jsonField(inputs.get(field)?.tokens?.[row] || null, []))
    for (const { places } of parts) {
      for (let i = 0; i < places.length; i++) {
        const row = places[i] as number
        if (marks[row] === 0 && holds?.(row) === true) marks[row] = 1
        const pause = pauseAt(i)
        if (pause) await pause
      }
    }
    return marks
  }

  function pauseAt(step: number): Promise<void> | undefined {
    return step % stepsAtOnce === 0 ? yieldToLoop() : undefined
  }

  interface Found extends JoinedParts {
    /** The rows of the view, in order of their digests. */
    rows: Int32Array
  }

  async function find(intersect: boolean): Promise<Found | undefined> {
    if (!canFilter) return undefined
    const all = await joined()
    if (all === undefined) return undefined
    const marks = await marked(all)
    if (marks === 'unknown') return undefined
    const { parts, digests } = all
    const isEmpty = intersect && of.length < evaluations.length
    const mustHave =
      intersect && parts.some(({ places }) => places.length < digests.length) ? parts.length : 0
    const has = mustHave > 0 ? new Int32Array(digests.length) : undefined
    if (has)
      for (const { places } of parts) for (const place of places) has[place] = (has[place] as number) + 1
    const rows = new Int32Array(digests.length)
    let count = 0
    for (let row = 0; row < digests.length && !isEmpty; row++) {
      if ((marks === undefined || marks[row] === 1) && (has?.[row] ?? 0) === mustHave) rows[count++] = row
    }
    return { ...all, rows: rows.subarray(0, count) }
  }

  const finding = new Map<boolean, Promise<Found | undefined>>()
  const found = (intersect: boolean) => {
    const known = finding.get(intersect) ?? find(intersect)
    finding.set(intersect, known)
    return known
  }

  function keysOf({ parts, digests }: Found): SortKey[] | undefined {
    const keys: SortKey[] = []
    for (const { field, direction, evaluation, mode } of sort) {
      const path = columnField(field)?.path ?? []
      if (columnField(field)?.document === 'inputs') {
        const input = inputOf(inScope(parts, evaluation), path[0] as string, digests.length)
        if (input === undefined) return undefined
        const texts = input.tokens?.map((token) => (token === '' ? '' : textOfJson(token)))
        keys.push({ numbers: input.numbers, direction, ...(texts && { texts }) })
        continue
      }
      const isDifference = mode === 'difference' && evaluations.length > 1
      const scope = isDifference ? parts : inScope(parts, evaluation)
      const scores = scope.map((part) => scoreOf(part, path, shapes))
      const isMissing = isDifference && parts.length < evaluations.length
      const numbers = isMissing
        ? new Float64Array(digests.length).fill(Number.NaN)
        : isDifference
          ? differencesOf(digests.length, scores)
          : meansOf(digests.length, scores)
      keys.push({ numbers, direction })
    }
    return keys
  }

  return {
    /**
     * True if every referenced row was found when its trial was derived, so that none has to be looked for in tables.
     */
    areRowsRead: of.every(({ header }) => header.unread === 0),

    async count(intersect: boolean): Promise<number | undefined> {
      return (await found(intersect))?.rows.length
    },

    /** The rows of the view in the requested order; rows after the first `needed` may be left out. */
    async order(intersect: boolean, needed?: number): Promise<OrderedRows | undefined> {
      const view = canSort ? await found(intersect) : undefined
      const keys = view && keysOf(view)
      if (view === undefined || keys === undefined) return undefined
      const { rows, digests } = view
      return { rows: await sortRows(rows, keys, yieldToLoop, needed), total: rows.length, digests }
    },

    /** The score that the rows are sorted by. */
    async scores(intersect: boolean): Promise<ScoreReader | undefined> {
      const view = canSort ? await found(intersect) : undefined
      const path = columnField(sort[0]?.field ?? '')?.path
      if (view === undefined || path === undefined) return undefined
      const marks = marksOf(view)
      const names = new Set([columnNames.failed])
      const asked = view.parts.map(({ set }) => ({ set, names }))
      const failures = await readColumns(db, project, asked, signal)
      if (failures === undefined) return undefined
      const scores: ScoreColumn[] = []
      for (const part of view.parts) {
        const evaluation = part.set.evaluation_id
        const failed = unpackNumbers(failures.get(evaluation)?.get(columnNames.failed) as Uint8Array)
        const { numbers, rows } = scoreOf(part, path, shapes)
        scores.push({ evaluation, ...inView({ numbers: numbers.map(onAxis), rows, failed }, marks) })
        const pause = yieldToLoop()
        if (pause) await pause
      }
      return scoresOfColumns(scores, view.digests.length, yieldToLoop)
    },

    /** Sums over the trials by evaluation and shape. */
    async sums(intersect: boolean): Promise<ColumnSums[] | undefined> {
      const areSame = of.every(({ set }) => set.row_sum === of[0]?.set.row_sum)
      if (filters.length === 0 && (!intersect || (areSame && of.length === evaluations.length))) {
        return of.flatMap(({ set, header }) =>
          header.shapes.map((totals) => ({
            ...totals,
            evaluation_id: set.evaluation_id,
            first_row: header.first,
          })),
        )
      }
      const view = await found(intersect)
      if (view === undefined) return undefined
      const marks = marksOf(view)
      const sums: ColumnSums[] = []
      for (const part of view.parts) {
        const own = await addUp(db, project, part, marks, view.digests, signal)
        if (own === undefined) return undefined
        sums.push(...own)
        const pause = yieldToLoop()
        if (pause) await pause
      }
      return sums
    },
  }
}

function marksOf({ rows, digests }: { rows: Int32Array; digests: PackedTexts }): Uint8Array {
  const marks = new Uint8Array(digests.length)
  for (const row of rows) marks[row] = 1
  return marks
}

type TrialsOfScore = Omit<ScoreColumn, 'evaluation'>

/** Only the trials of rows in the view. */
function inView(all: TrialsOfScore, marks: Uint8Array): TrialsOfScore {
  if (!marks.includes(0)) return all
  const isShown = (_: number, i: number) => marks[all.rows[i] as number] === 1
  return {
    numbers: all.numbers.filter(isShown),
    rows: all.rows.filter(isShown),
    failed: all.failed.filter(isShown),
  }
}

type FilterKind = 'scores' | 'numbers' | 'values'

/** What a filter is about; undefined if it involves more than the columns contain. */
function kindOf(query: Expression): FilterKind | undefined {
  const documents = new Set(fieldsOf(query).map((field) => columnField(field)?.document))
  const [document, ...others] = documents
  if (document === undefined || others.length > 0) return undefined
  const none = new Float64Array()
  const readsNumbers = (countTruths: boolean) =>
    conditionOnNumbers(query, { of: () => none, countTruths }) !== undefined
  if (document === 'scores') return readsNumbers(true) ? 'scores' : undefined
  return readsNumbers(false) ? 'numbers' : 'values'
}
