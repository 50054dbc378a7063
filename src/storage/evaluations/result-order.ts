import { checkPath } from '../../domain/expressions/path.ts'
import type { Page } from '../../domain/view.ts'
import { pageOf } from '../sql/rows-in-order.ts'
import { allOf, emptySql, join, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'
import {
  acceptedFields,
  type FieldSources,
  fieldRefused,
  type ResultField,
  readingOf,
  resultField,
  rowToken,
} from './result-fields.ts'
import {
  inScope,
  inView,
  ofCall,
  type RowsOfView,
  representativeOfTrials,
  representativeRow,
  rowsOf,
  trialTable,
} from './result-rows.ts'
import { scoreReading, storedNumber } from './scores.ts'

export interface ResultsSort {
  field: string
  direction: 'asc' | 'desc'
  /** Only the trials of this evaluation count; null means all. */
  evaluation: string | null
  mode: 'value' | 'difference'
}

/** One key of the order of rows. */
export interface RowOrder {
  /**
   * For a number, its mean over trials; for a text, the smallest over trials, numbers first; or the same for the row
   * itself.
   */
  reading: ScoreKey | { kind: 'document'; number: Sql; text: Sql } | RowReading
  needsCall: boolean
  /** Only the trials of this evaluation count; null means all. */
  evaluation: string | null
  /** Sort by the largest minus the smallest of the evaluations' means. */
  difference: boolean
  direction: 'asc' | 'desc'
}

interface ScoreKey {
  kind: 'score'
  number: Sql
  /** Some of the numbers may be more precise than a double. */
  isExact: boolean
}

/** A value of the row as JSON, from what a `trial` knows of its row. */
interface RowReading {
  kind: 'row'
  token: Sql
}

export interface FoundRow {
  row_digest: string
  /** The number of rows of the view. */
  total: number
}

/** A page of rows when every row has to be read anyway: the rows are counted in the same pass. */
export function selectCountedPage(db: Reader, view: RowsOfView, order: readonly RowOrder[], page: Page): Sql {
  const counted = rawSql('SELECT row_digest, count(*) OVER () AS total FROM')
  if (order.length === 0) {
    return sql`${counted} (${rowsOf(db, view)}) AS found ORDER BY row_digest${pageOf(db.dialect, page)}`
  }
  const terms = join([...order.flatMap(orderTerms), rawSql('row_digest')], ', ')
  return sql`WITH keyed AS (${keyedRows(db, view, order)}) ${counted} keyed ORDER BY ${terms}${pageOf(db.dialect, page)}`
}

/** The rows of the view with their keys: `mean0`; or `number0` and `text0`. */
function keyedRows(db: Reader, view: RowsOfView, order: readonly RowOrder[]): Sql {
  const grouped = order.some(({ difference }) => difference)
    ? groupedTwice(db, view, order)
    : groupedOnce(db, view, order)
  if (!order.some(({ reading }) => reading.kind === 'row')) return grouped
  const tokens = order.flatMap(({ reading }, i) => (reading.kind === 'row' ? tokenOf(view, reading, i) : []))
  const keys = order.map(({ reading }, i) => {
    if (reading.kind === 'score') return rawSql(`mean${i}`)
    if (reading.kind === 'document') return rawSql(`number${i}, text${i}`)
    const { number, text } = db.dialect.json(rawSql(`token${i}`), [])
    return sql`${number} AS ${rawSql(`number${i}`)}, nullif(${text}, '') AS ${rawSql(`text${i}`)}`
  })
  // Each value is looked up once, however often it is read.
  return sql`SELECT row_digest, ${join(keys, ', ')} FROM (
      WITH read_rows AS MATERIALIZED (SELECT chosen.*, ${join(tokens, ', ')} FROM (${grouped}) AS chosen)
      SELECT * FROM read_rows) AS read_rows`
}

function tokenOf({ project }: RowsOfView, { token }: RowReading, i: number): Sql {
  const trial = sql`(SELECT CAST(${project} AS TEXT) AS project_id, chosen.row_digest AS row_digest,
    ${rawSql(`chosen.trial${i} AS trial_id, chosen.kind${i} AS row_kind, chosen.brief${i} AS brief`)}) AS trial`
  return sql`(SELECT ${token} FROM ${trial}) AS ${rawSql(`token${i}`)}`
}

/** For each key, the columns that aggregate it over trials. */
function aggregated({ reading, evaluation }: RowOrder, i: number): Sql[] {
  const only = (value: Sql) =>
    evaluation === null ? value : sql`CASE WHEN trial.evaluation_id = ${evaluation} THEN ${value} END`
  if (reading.kind === 'score') {
    const number = only(reading.number)
    const [least, most, mean] = [sql`min(${number})`, sql`max(${number})`, sql`avg(${number})`]
    return [sql`${orTheOne(reading.isExact, least, most, mean)} AS ${rawSql(`mean${i}`)}`]
  }
  if (reading.kind === 'document') {
    const text = sql`CASE WHEN ${reading.number} IS NULL THEN nullif(${reading.text}, '') END`
    return [
      sql`min(${only(reading.number)}) AS ${rawSql(`number${i}`)}`,
      sql`min(${only(text)}) AS ${rawSql(`text${i}`)}`,
    ]
  }
  return named(representativeOfTrials(only), i)
}

/** If all numbers are equal, the mean is that number, with digits that a double cannot hold. */
function orTheOne(isExact: boolean, least: Sql, most: Sql, mean: Sql): Sql {
  return isExact ? sql`(CASE WHEN ${least} = ${most} THEN ${least} ELSE ${mean} END)` : mean
}

function named(columns: Record<string, Sql>, i: number): Sql[] {
  return Object.entries(columns).map(([name, column]) => sql`${column} AS ${rawSql(`${name}${i}`)}`)
}

function trialsOf(db: Reader, view: RowsOfView, order: readonly RowOrder[]): Sql {
  return sql`FROM ${trialTable} ${order.some(({ needsCall }) => needsCall) ? ofCall : emptySql}
    WHERE ${allOf([inScope(view, null), ...inView(db, view), db.dialect.trialsCancellable])}`
}

function groupedOnce(db: Reader, view: RowsOfView, order: readonly RowOrder[]): Sql {
  return sql`SELECT trial.row_digest AS row_digest, ${join(order.flatMap(aggregated), ', ')}
    ${trialsOf(db, view, order)} GROUP BY trial.row_digest`
}

/**
 * Groups by evaluation first, because the means of evaluations are then compared. A mean over all of them needs their
 * sums.
 */
function groupedTwice(db: Reader, view: RowsOfView, order: readonly RowOrder[]): Sql {
  const inner = order.flatMap((key, i) => {
    if (key.reading.kind !== 'score') return aggregated(key, i)
    const { number, isExact } = key.reading
    const both = { sum: sql`sum(${number} * 1.0)`, count: sql`count(${number})` }
    return named(isExact ? { ...both, least: sql`min(${number})`, most: sql`max(${number})` } : both, i)
  })
  const outer = order.map(({ reading, evaluation, difference }, i) => {
    if (reading.kind === 'row') {
      return join(
        named(
          representativeRow(`kind${i}`, `trial${i}`, `brief${i}`, (value) => value),
          i,
        ),
        ', ',
      )
    }
    if (reading.kind === 'document') return rawSql(`min(number${i}) AS number${i}, min(text${i}) AS text${i}`)
    const { isExact } = reading
    const only = (column: string) =>
      evaluation === null
        ? rawSql(`${column}${i}`)
        : sql`CASE WHEN evaluation_id = ${evaluation} THEN ${rawSql(`${column}${i}`)} END`
    const meanOfPart = rawSql(`(sum${i} / nullif(count${i}, 0))`)
    const mean = orTheOne(isExact, rawSql(`least${i}`), rawSql(`most${i}`), meanOfPart)
    const meanOfAll = sql`sum(${only('sum')}) / nullif(sum(${only('count')}), 0)`
    // A row that one of the evaluations lacks has no difference.
    const value = difference
      ? sql`CASE WHEN count(${mean}) = ${view.evaluations.length} THEN max(${mean}) - min(${mean}) END`
      : orTheOne(isExact, sql`min(${only('least')})`, sql`max(${only('most')})`, meanOfAll)
    return sql`${value} AS ${rawSql(`mean${i}`)}`
  })
  return sql`SELECT row_digest, ${join(outer, ', ')} FROM (
      SELECT trial.row_digest AS row_digest, trial.evaluation_id AS evaluation_id, ${join(inner, ', ')}
      ${trialsOf(db, view, order)} GROUP BY trial.row_digest, trial.evaluation_id
    ) AS part GROUP BY row_digest`
}

/** Numbers before text, and missing values last, in both directions. */
function orderTerms({ reading, direction }: RowOrder, i: number): Sql[] {
  const way = direction === 'asc' ? 'ASC NULLS LAST' : 'DESC NULLS LAST'
  if (reading.kind === 'score') return [rawSql(`mean${i} ${way}`)]
  return [
    rawSql(`CASE WHEN number${i} IS NULL THEN 1 ELSE 0 END`),
    rawSql(`number${i} ${way}`),
    rawSql(`CASE WHEN number${i} IS NULL THEN text${i} END ${way}`),
  ]
}

/** What rows are sorted by, validated. */
export function rowOrderOf(
  sort: readonly ResultsSort[],
  evaluations: readonly string[],
  sources: FieldSources,
): RowOrder[] {
  return sort.map(({ field, direction, evaluation, mode }, index) => {
    checkPath(field, `sort_by.${index}.field`)
    const known = resultField(field)
    if (known === undefined) throw fieldRefused(`sort_by.${index}.field`, field, acceptedFields)
    if (mode === 'difference' && known.document !== 'scores') {
      const accepted = 'value for this field; difference is for scores.… alone'
      throw fieldRefused(`sort_by.${index}.mode`, mode, accepted)
    }
    const difference = mode === 'difference' && evaluations.length > 1
    return {
      reading: keyOf(known, sources),
      needsCall: known.document === 'outputs' || known.document === 'output',
      evaluation: difference ? null : evaluation,
      difference,
      direction,
    }
  })
}

function keyOf(known: ResultField, sources: FieldSources): RowOrder['reading'] {
  const { shapes, dialect } = sources
  const { document, path } = known
  if (document === 'scores') {
    const known = scoreReading(shapes, path, dialect)
    if (known === undefined) return { kind: 'score', number: storedNumber(path, dialect), isExact: true }
    return { kind: 'score', number: known.number, isExact: known.isExact }
  }
  if (document === 'inputs') {
    return { kind: 'row', token: rowToken(path, sources) }
  }
  const { column } = readingOf(known, sources)
  const { number, text } = dialect.json(column, path)
  return { kind: 'document', number, text }
}
