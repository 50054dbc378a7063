import { type Caller, requireAccess } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { listOf, type Sql, sql, trusted } from '../../storage/sql/sql.ts'
import { ownState, type SeenItem, selectItems } from '../../storage/tables/queue-items.ts'
import { requireQueue } from '../../storage/tables/queues.ts'
import type { AddItemsBody, ItemsFilter, QueryItemsBody } from './contract.ts'
import { orderOf } from './order.ts'
import { itemRecord } from './record.ts'

const mostIds = 1000

/** Every id that was given is counted once: as added, as a duplicate or as unknown. */
export async function addItems(db: Database, caller: Caller, queue_id: string, body: AddItemsBody) {
  const { project_id, call_ids, display_fields } = body
  requireAccess(caller, project_id)
  if (call_ids.length > mostIds)
    throw refuse('too_many_ids', { field: 'call_ids', given: call_ids.length, limit: mostIds })
  const result = await db.write('addCallsToQueue', {
    project_id,
    queue_id,
    calls: [...new Set(call_ids)].map((call_id) => ({ item_id: newId(), call_id })),
    display_fields: JSON.stringify(display_fields ?? []),
    added_by: caller.name,
    now: now(),
  })
  const unknown = new Set(result.unknown)
  const unknownGiven = call_ids.filter((id) => unknown.has(id)).length
  return {
    added_count: result.added,
    duplicates: call_ids.length - result.added - unknownGiven,
    unknown: unknownGiven,
    unknown_call_ids: result.unknown,
  }
}

/** One JSON text for each item, in the queue's order unless asked otherwise. */
export async function streamItems(
  db: Database,
  caller: Caller,
  queue_id: string,
  body: QueryItemsBody,
  signal: AbortSignal,
): Promise<AsyncIterable<string>> {
  const { project_id } = body
  requireAccess(caller, project_id)
  const order = orderOf(body.sort_by, columns, { last: 'item.position ASC' })
  await requireQueue(db, { project_id, queue_id })
  const statement = selectItems(db, {
    project_id,
    queue_id,
    annotator: caller.name,
    conditions: body.filter ? conditionsOf(body.filter, caller) : [],
    order,
    limit: body.limit ?? null,
    offset: body.offset ?? 0,
  })
  const time = now()
  return (async function* () {
    for await (const items of db.stream<SeenItem>(statement, { signal })) {
      for (const item of items) yield writeJson(itemRecord(item, time, body.include_position === true))
    }
  })()
}

const columns = new Map([
  ['call_started_at', 'item.call_started_at'],
  ['call_op_name', 'item.call_op_name'],
  ['created_at', 'item.added_at'],
  ['updated_at', 'item.added_at'],
  ['position_in_queue', 'item.position'],
])

const filtered = ['id', 'call_id', 'call_op_name', 'call_trace_id', 'added_by'] as const

function conditionsOf(filter: ItemsFilter, caller: Caller): Sql[] {
  const conditions = filtered.flatMap((name) => {
    const value = filter[name]
    return value == null ? [] : [sql`${trusted(`item.${name}`)} = ${value}`]
  })
  const { annotation_states: states, own_annotation_states: own } = filter
  if (states?.length) conditions.push(sql`item.state IN (${listOf(states)})`)
  if (own?.length) conditions.push(sql`coalesce(${ownState(caller.name)}, 'unstarted') IN (${listOf(own)})`)
  return conditions
}
