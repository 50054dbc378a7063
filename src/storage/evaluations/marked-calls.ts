import { refuse } from '../../domain/refusals.ts'
import type { Page } from '../../domain/view.ts'
import { type CallRow, isLive, selectCalls } from '../calls/calls.ts'
import type { LargeColumn } from '../calls/columns.ts'
import type { Dialect } from '../sql/dialect.ts'
import { join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { BoundReader, Reader } from '../transaction.ts'

/** The calls that have a role in an evaluation, by the mark in their attributes. */
const marks = { run: 'evaluation_run', prediction: 'prediction', score: 'score' } as const
export type Kind = keyof typeof marks

/** A condition on a row of `calls`. */
function isMarked(dialect: Dialect, kind: Kind): Sql {
  return sql`${dialect.json(rawSql('calls.attributes'), ['weave', marks[kind]]).text} = 'true'`
}

export type MarkedCall = Pick<
  CallRow,
  'id' | 'parent_id' | 'started_at' | 'ended_at' | 'exception' | 'user_id'
> &
  Record<'attributes' | 'inputs' | 'summary', string> & { output: string | null }

export function findMarked(
  db: Reader,
  kind: Kind,
  projectId: string,
  id: string,
  now: number,
): Promise<MarkedCall | undefined> {
  const stored = (column: string) => db.dialect.stored(rawSql(column))
  return db.get(
    sql`SELECT id, parent_id, started_at, ended_at, exception, user_id, coalesce(${stored('attributes')}, '{}') AS attributes,
          coalesce(${stored('inputs')}, '{}') AS inputs, ${stored('output')} AS output, coalesce(${stored('summary')}, '{}') AS summary
        FROM calls WHERE project_id = ${projectId} AND id = ${id} AND ${isLive(now)} AND ${isMarked(db.dialect, kind)}`,
  )
}

/** The call of this kind; refuses if there is none, or if it is of another kind. */
export async function requireMarked(
  db: Reader,
  kind: Kind,
  projectId: string,
  id: string,
  field: string,
  now: number,
): Promise<MarkedCall> {
  const found = await findMarked(db, kind, projectId, id, now)
  if (found !== undefined) return found
  const project = projectId
  if (kind === 'run') throw refuse('evaluation_run_not_found', { field, run: id, project })
  if (kind === 'prediction') throw refuse('prediction_not_found', { field, prediction: id, project })
  throw refuse('score_not_found', { field, score: id, project })
}

export interface MarkedCalls {
  project_id: string
  ids: readonly string[]
  now: number
}

/** The live calls of this kind among those given. */
export function liveAmong(
  tx: Reader,
  kind: Kind,
  { project_id, ids, now }: MarkedCalls,
): Promise<Pick<MarkedCall, 'id' | 'parent_id'>[]> {
  return tx.all(
    sql`SELECT id, parent_id FROM calls WHERE project_id = ${project_id} AND id IN (${listOf(ids)})
        AND ${isLive(now)} AND ${isMarked(tx.dialect, kind)}`,
  )
}

/**
 * What the ops of each kind have in their name: checking this first avoids reading the attributes of all other calls.
 */
const inName: Record<Kind, string> = { run: 'evaluate', prediction: '.predict', score: '.score' }

interface MarkedView extends Page {
  project: string
  kind: Kind
  /** Runs with these ids, evaluations and models; undefined means any. */
  ids?: readonly string[] | undefined
  evaluations?: readonly string[] | undefined
  models?: readonly string[] | undefined
  /** Predictions and scores of this run. */
  run?: string | undefined
}

/** The calls of a kind, in the order in which they started. */
export function streamMarked(
  db: BoundReader,
  view: MarkedView,
  large: readonly LargeColumn[],
  now: number,
): AsyncIterable<CallRow[]> {
  const query = {
    projectId: view.project,
    conditions: conditionsOf(view, db.dialect),
    order: [rawSql('started_at'), rawSql('id')],
    limit: view.limit,
    offset: view.offset,
  }
  const columns = { large: new Set(large), totalStorageSize: false }
  return db.stream<CallRow>(selectCalls(db, query, columns, now))
}

function conditionsOf({ kind, ids, evaluations, models, run }: MarkedView, dialect: Dialect): Sql[] {
  const conditions = [sql`${dialect.position(rawSql('calls.op_name'), sql`${inName[kind]}`)} > 0`]
  const weave = (name: string) => dialect.json(rawSql('calls.attributes'), ['weave', name]).text
  const among = (name: string, values: readonly string[] | undefined) => {
    const texts = (values ?? []).map((value) => dialect.text(value))
    if (values) conditions.push(sql`${weave(name)} IN (${join(texts, ', ')})`)
  }
  if (ids) conditions.push(sql`calls.id IN (${listOf(ids)})`)
  among('evaluation', evaluations)
  among('model', models)
  if (run) conditions.push(sql`calls.trace_id = ${run}`)
  among('evaluation_run_id', run ? [run] : undefined)
  return [...conditions, isMarked(dialect, kind)]
}
