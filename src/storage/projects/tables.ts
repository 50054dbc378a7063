import { removeResponses } from '../answers/response-removals.ts'
import { dropFilesOfProject } from '../cold/files.ts'
import { freeConversations } from '../conversations/freeing.ts'
import { derivePending, markTrialsOfDeleted, readPending } from '../evaluations/pending.ts'
import { entriesOf } from '../search/entries.ts'
import { searchLock } from '../search/indexing.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'

/** What is deleted from a project in one transaction: this many rows, or as many as reach this many bytes. */
const rowsAtOnce = 200
const bytesAtOnce = 4 << 20

interface Removed {
  /** Zero when nothing is left. */
  rows: number
  /** How many of these count for users. */
  counted: number
}

export interface ProjectTable {
  table: string
  /** The name under which its rows are counted. A project exists as long as one of these tables has a row of it. */
  counts?: string
  /** A condition: the row is visible to users, and not only a mark that it was deleted. */
  live?: string
  /** Removes some of its rows. Absent if they are removed with those of another table. */
  remove?: (tx: Transaction, project: string, now: number) => Promise<Removed>
}

const notDeleted = 'deleted_at IS NULL'
const callBytes = 'start_bytes + end_bytes'

/**
 * Every table with project data, in the order of deletion: tables that lead to others come first. A test checks the
 * list against the schema.
 */
export const projectTables: readonly ProjectTable[] = [
  // First, because they put calls into queues.
  rows('annotation_rules', ['id']),
  rows('annotation_rule_scores', ['call_id', 'rule_id']),
  // Before the calls, so that nothing more is fired.
  rows('alert_rules', ['id']),
  rows('alert_endpoints', ['id']),
  rows('alert_deliveries', ['endpoint_id', 'event_id']),
  rows('alert_events', ['id']),
  rows('alert_versions', ['version']),
  // Before the calls, so that nothing more is judged.
  rows('monitors', ['id'], { counts: 'monitors', live: notDeleted }),
  rows('judgements', ['monitor_id', 'call_id', 'scorer']),
  rows('monitor_days', ['monitor_id', 'day']),
  rows('monitor_runs', ['id']),
  rows('served_runs', ['run_id']),
  rows('shadow_pairs', ['shadow_id', 'call_id'], { bytes: 'coalesce(octet_length(request), 0)' }),
  // Before the files that they write.
  rows('batches', ['id']),
  rows('batch_lines', ['batch_id', 'line'], { bytes: 'length' }),
  rows('waiting_responses', ['user_name', 'id']),
  rows('waiting_response_texts', ['user_name', 'id'], {
    bytes: 'octet_length(head) + coalesce(octet_length(body), 0)',
  }),
  // Before the calls, so that no item of them is added to one.
  { table: 'conversations', remove: removeConversations },
  { table: 'calls', counts: 'calls', live: `started_at IS NOT NULL AND ${notDeleted}`, remove: removeCalls },
  rows('cold_marks', ['file_id', 'call_id']),
  { table: 'cold_files', remove: removeColdFiles },
  // From the store, first.
  { table: 'cold_removals' },
  rows('cold_users', ['end_user', 'call_id']),
  rows('underived_calls', ['call_id']),
  rows('call_sums', ['span', 'field', 'at', 'kind', 'value']),
  rows('call_sum_marks', ['at', 'about', 'mark']),
  rows('unsummed_projects', ['at']),
  rows('agent_sums', ['span', 'at', 'agent', 'version']),
  rows('thread_sums', ['thread_id']),
  rows('feedback', ['id'], { counts: 'feedback', bytes: 'octet_length(payload)' }),
  // After the calls and notes, so that no new entries are made.
  rows('search_marks', ['mark']),
  { table: 'search_entries', remove: removeEntries },
  rows('completions', ['call_id']),
  { table: 'responses' },
  // Derived once more, now that the calls are gone.
  { table: 'eval_owed', remove: deriveSome },
  { table: 'eval_trials' },
  { table: 'eval_row_sets' },
  { table: 'eval_columns' },
  { table: 'eval_shapes' },
  rows('annotation_queues', ['id'], { counts: 'queues', live: notDeleted }),
  rows('annotation_queue_items', ['id']),
  rows('annotation_progress', ['item_id', 'annotator']),
  rows('annotation_finished', ['queue_id', 'annotator']),
  rows('objects', ['object_id', 'digest'], { counts: 'object_versions', live: notDeleted, bytes: 'size' }),
  // After the versions, so that no new ones are made.
  rows('object_aliases', ['object_id', 'alias']),
  rows('label_gates', ['object_id', 'alias']),
  rows('label_shadows', ['id']),
  rows('object_tags', ['object_id', 'digest', 'tag']),
  rows('row_tables', ['digest'], { counts: 'tables' }),
  rows('table_entries', ['table_digest', 'position']),
  rows('table_rows', ['digest'], { bytes: 'octet_length(val)' }),
  rows('files', ['digest'], { counts: 'files' }),
  rows('wire_files', ['id']),
  rows('file_uploads', ['upload_id']),
  rows('file_pieces', ['upload_id', 'position'], { bytes: 'octet_length(bytes)' }),
  rows('prices', ['id'], { counts: 'prices' }),
  // After the prices, whose changes are noted there.
  rows('trace_sums_state', ['stored']),
  rows('saved_views', ['id']),
  rows('redaction_counts', ['kind']),
]

interface RowKind extends Pick<ProjectTable, 'counts' | 'live'> {
  /** The bytes that a row frees, if they may be many. */
  bytes?: string
}

/** A table whose rows are deleted directly. `key` is the rest of its primary key. */
function rows(table: string, key: readonly string[], { counts, live, bytes }: RowKind = {}): ProjectTable {
  const [name, columns] = [rawSql(table), rawSql(key.join(', '))]
  const first = (project: string, most: number, selected: Sql) =>
    sql`SELECT ${selected} FROM ${name} WHERE project_id = ${project} ORDER BY ${columns} LIMIT ${most}`
  const weighed = rawSql(`${bytes ?? '0'} AS bytes, CASE WHEN ${live ?? '1 = 1'} THEN 1 ELSE 0 END AS live`)
  return {
    table,
    ...(counts !== undefined && { counts }),
    ...(live !== undefined && { live }),
    async remove(tx, project) {
      const some = fitting(await tx.all<Weighed>(first(project, rowsAtOnce, weighed)))
      if (some.length === 0) return { rows: 0, counted: 0 }
      await tx.run(
        sql`DELETE FROM ${name} WHERE project_id = ${project} AND (${columns}) IN (${first(project, some.length, columns)})`,
      )
      return { rows: some.length, counted: countOf(some) }
    },
  }
}

interface Weighed {
  bytes: number
  live: number
}

function fitting<Row extends Weighed>(all: readonly Row[]): Row[] {
  const some: Row[] = []
  let sum = 0
  for (const row of all) {
    if (sum >= bytesAtOnce) break
    some.push(row)
    sum += row.bytes
  }
  return some
}

const countOf = (all: readonly Weighed[]) => all.reduce((sum, { live }) => sum + live, 0)

/**
 * The trials of these calls are derived again: deleted trials disappear, and the results of the remaining ones stay
 * correct.
 */
async function removeCalls(tx: Transaction, project: string, now: number): Promise<Removed> {
  const some = fitting(
    await tx.all<Weighed & { id: string; parent_id: string | null }>(
      sql`SELECT id, parent_id, ${rawSql(callBytes)} AS bytes,
            CASE WHEN started_at IS NOT NULL AND ${rawSql(notDeleted)} THEN 1 ELSE 0 END AS live
          FROM calls WHERE project_id = ${project} ORDER BY id LIMIT ${rowsAtOnce}`,
    ),
  )
  if (some.length === 0) return { rows: 0, counted: 0 }
  const ids = some.map(({ id }) => id)
  await removeResponses(tx, project, ids)
  await tx.run(sql`DELETE FROM calls WHERE project_id = ${project} AND id IN (${listOf(ids)})`)
  const touched = [...ids, ...some.flatMap(({ parent_id }) => parent_id ?? [])]
  await markTrialsOfDeleted(tx, project, touched, now)
  return { rows: some.length, counted: countOf(some) }
}

async function removeColdFiles(tx: Transaction, project: string, now: number): Promise<Removed> {
  return { rows: await dropFilesOfProject(tx, project, rowsAtOnce, now), counted: 0 }
}

async function removeConversations(tx: Transaction, project: string): Promise<Removed> {
  const step = { limit: rowsAtOnce, bytes: bytesAtOnce }
  const which = sql`project_id = ${project}`
  return { rows: await freeConversations(tx, which, step), counted: 0 }
}

async function removeEntries(tx: Transaction, project: string): Promise<Removed> {
  await tx.lock(searchLock)
  const some = await tx.all<{ call_id: string }>(
    sql`SELECT call_id FROM search_entries WHERE project_id = ${project} ORDER BY call_id LIMIT ${rowsAtOnce}`,
  )
  const calls = some.map(({ call_id }) => call_id)
  if (calls.length > 0) await entriesOf(tx).remove(tx, project, calls)
  return { rows: calls.length, counted: 0 }
}

async function deriveSome(tx: Transaction, project: string, now: number): Promise<Removed> {
  const pending = await readPending(tx, project, rowsAtOnce)
  const trial_ids = pending.map(({ trial_id }) => trial_id)
  await derivePending(tx, { project_id: project, trial_ids, now })
  return { rows: pending.length, counted: 0 }
}
