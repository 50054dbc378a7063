import { isLive } from '../calls/calls.ts'
import { type CallsFilter, filterConditions } from '../calls/filter.ts'
import type { Dialect } from '../sql/dialect.ts'
import { allOf, rawSql, type Sql, sql } from '../sql/sql.ts'

/** Whether a call used tokens. */
export const usesTokens = rawSql('(input_tokens IS NOT NULL OR output_tokens IS NOT NULL)')

/** Where the conventions of spans say that a call asks a model, and what they say then, as JSON. */
const kindPaths = [
  ['gen_ai', 'operation', 'name'],
  ['openinference', 'span', 'kind'],
  ['langfuse', 'observation', 'type'],
]
const modelKinds = [
  ...['chat', 'generate_content', 'text_completion', 'embeddings'],
  ...['LLM', 'EMBEDDING', 'generation', 'embedding'],
]

/** Whether a call asks a model itself, so that what runs below it used tokens besides it. */
export function asksModel(dialect: Dialect): Sql {
  const names = rawSql(modelKinds.map((kind) => `'"${kind}"'`).join(', '))
  const kinds = kindPaths.map(
    (path) => sql`coalesce(${dialect.token(rawSql('attributes'), path)} IN (${names}), FALSE)`,
  )
  return sql`(${kinds.reduce((all, kind) => sql`${all} OR ${kind}`)})`
}

/**
 * Whether the tokens of a call are counted. Agents and wrappers repeat what the calls below them used, so a call does
 * not count if one below it that is selected, too, used tokens; unless it asks a model itself, and no selected child
 * has the same counts.
 */
export function countsOnce(
  dialect: Dialect,
  project: string,
  filters: readonly CallsFilter[],
  now: number,
): Sql {
  const isSelected = (table: string) => [
    isLive(now, rawSql(table)),
    ...filters.flatMap((filter) => filterConditions(filter, dialect)),
  ]
  const used = allOf([
    sql`used.project_id = ${project} AND used.id = below_id AND used.id <> calls.id`,
    ...isSelected('used'),
    usesTokens,
    dialect.cancellable,
  ])
  const isRepeated = sql`EXISTS (WITH RECURSIVE below (below_id) AS (
      SELECT child.id FROM calls AS child WHERE child.project_id = ${project} AND child.parent_id = calls.id
      UNION SELECT child.id FROM below CROSS JOIN calls AS child
        WHERE child.project_id = ${project} AND child.parent_id = below_id)
    SELECT 1 FROM below CROSS JOIN calls AS used WHERE ${used})`
  const same = allOf([
    sql`child.project_id = ${project} AND child.parent_id = calls.id AND child.id <> calls.id`,
    rawSql('child.input_tokens IS NOT DISTINCT FROM calls.input_tokens'),
    rawSql('child.output_tokens IS NOT DISTINCT FROM calls.output_tokens'),
    ...isSelected('child'),
  ])
  const isWrapper = sql`EXISTS (SELECT 1 FROM calls AS child WHERE ${same})`
  return sql`(NOT ${isRepeated} OR (${asksModel(dialect)} AND NOT ${isWrapper}))`
}

/** A query whose values are computed once for each row: as a part of another one, they would be wherever that names them. */
export const apart = (dialect: Dialect, query: Sql): Sql => sql`${query} LIMIT ${dialect.noLimit} OFFSET 0`
