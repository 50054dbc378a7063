import { exampleKinds } from '../../domain/evaluations/example.ts'
import { outputKeys } from '../../domain/evaluations/trial.ts'
import { type Expression, fieldsOf } from '../../domain/expressions/expression.ts'
import { splitPath } from '../../domain/expressions/path.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { compileCondition, maxValues } from '../sql/conditions.ts'
import type { Dialect } from '../sql/dialect.ts'
import type { FieldReading } from '../sql/readings.ts'
import { join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { RowFilter } from './result-rows.ts'
import { scoreReading } from './scores.ts'
import type { EvaluationShape } from './shapes.ts'

const documents = ['scores', 'inputs', 'outputs', 'output'] as const
type ResultDocument = (typeof documents)[number]

/** A field of a trial: from its scores, its row or the output of the model. */
export interface ResultField {
  document: ResultDocument
  path: string[]
}

/** Undefined if this is not such a field. */
export function resultField(field: string): ResultField | undefined {
  const [first = '', ...path] = splitPath(field)
  const document = documents.find((name) => name === first)
  if (document === undefined || path.length === 0 || (path.length === 1 && path[0] === '')) return undefined
  return { document, path }
}

export function fieldRefused(path: string, value: string, accepted: string) {
  return wrong(path, JSON.stringify(value), accepted)
}

export const acceptedFields = 'scores.…, inputs.…, outputs.… (of the model), output.… (of the whole trial)'

/** What the fields of some evaluations are read from. */
export interface FieldSources {
  shapes: readonly EvaluationShape[]
  /** Other projects whose tables have rows that trials refer to. */
  otherProjects: readonly string[]
  dialect: Dialect
}

/** How SQL reads the field from a trial and its call. */
export function readingOf(
  { document, path }: ResultField,
  sources: FieldSources,
): FieldReading & { kind: 'json' } {
  const { shapes, dialect } = sources
  switch (document) {
    case 'scores': {
      const known = scoreReading(shapes, path, dialect)
      return {
        kind: 'json',
        column: rawSql('trial.scores'),
        path,
        countsTruth: true,
        ...(known && { known }),
      }
    }
    case 'inputs':
      return { kind: 'json', column: rowOf(path, sources), path }
    case 'outputs':
      return { kind: 'json', column: modelOutputOf(dialect), path, within: rawSql('call.output') }
    case 'output':
      return { kind: 'json', column: rawSql('call.output'), path }
  }
}

/** JSON text that contains the field of the row: its short members, or the whole row from the call or the tables. */
function rowOf(path: readonly string[], { otherProjects, dialect }: FieldSources): Sql {
  const brief = rawSql('substr(trial.brief, 2)')
  const example = dialect.json(rawSql('calls.inputs'), ['example']).text
  return sql`(CASE
    WHEN substr(trial.brief, 1, 1) = '1' OR ${dialect.token(brief, path)} IS NOT NULL THEN ${brief}
    WHEN trial.row_kind = ${rawSql(String(exampleKinds.inline))} THEN (SELECT ${example} FROM calls
      WHERE calls.project_id = trial.project_id AND calls.id = trial.trial_id)
    WHEN trial.row_kind = ${rawSql(String(exampleKinds.ref))} THEN ${tableRow(otherProjects)} END)`
}

/** Rows with the same digest have the same value, wherever they are stored. */
function tableRow(otherProjects: readonly string[]): Sql {
  const own = rawSql('trial.project_id')
  const projects = otherProjects.length === 0 ? sql`= ${own}` : sql`IN (${own}, ${listOf(otherProjects)})`
  return sql`(SELECT table_rows.val FROM table_rows
      WHERE table_rows.project_id ${projects} AND table_rows.digest = trial.row_digest LIMIT 1)`
}

/** The JSON of a field of the row, read once. */
export function rowToken(path: readonly string[], sources: FieldSources): Sql {
  const token = sources.dialect.token(rawSql('chosen.doc'), path)
  return sql`(SELECT ${token} FROM (SELECT ${rowOf(path, sources)} AS doc) AS chosen)`
}

/** Only lists and objects contain something that a path could lead to. */
function modelOutputOf(dialect: Dialect): Sql {
  const cases = outputKeys.flatMap((key, index) =>
    key === ''
      ? []
      : [sql`WHEN ${rawSql(String(index))} THEN ${dialect.json(rawSql('call.output'), [key]).text}`],
  )
  const value = sql`(CASE trial.output_key ${join(cases, ' ')} END)`
  return sql`(SELECT CASE WHEN substr(shown, 1, 1) IN ('{', '[') THEN shown END FROM (SELECT ${value} AS shown) AS model)`
}

export interface ResultsFilter {
  query: Expression
  /** Only trials of this evaluation can satisfy the filter; null means any. */
  evaluation: string | null
}

/** Each filter as a condition on a trial. */
export function rowFiltersOf(filters: readonly ResultsFilter[], sources: FieldSources): RowFilter[] {
  let values = 0
  return filters.map(({ query, evaluation }, index) => {
    const path = `filters.${index}.query`
    const resolve = (field: string): FieldReading => {
      if (field === 'row_digest') return { kind: 'text', sql: rawSql('trial.row_digest') }
      const known = resultField(field)
      if (known === undefined) throw fieldRefused(path, field, `${acceptedFields}, row_digest`)
      return readingOf(known, sources)
    }
    const condition = compileCondition(query, resolve, sources.dialect)
    values += condition.values.length
    if (values > maxValues) {
      const why = `needs, together with those before it, ${values} parameters for values and paths`
      throw refuse('invalid_expression', { field: path, why, accepted: `at most ${maxValues}` })
    }
    const documents = new Set(fieldsOf(query).map((field) => resultField(field)?.document))
    return { condition, about: aboutOf(documents), evaluation }
  })
}

/** Undefined stands for the row's digest, which every trial has. */
function aboutOf(documents: ReadonlySet<string | undefined>): RowFilter['about'] {
  if (documents.has('outputs') || documents.has('output')) return 'call'
  return documents.has('inputs') && !documents.has('scores') ? 'row' : 'trial'
}
