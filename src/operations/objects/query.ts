import { type Caller, requireAccess } from '../../domain/callers.ts'
import { writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import { join, listOf, type Sql, sql, trusted } from '../../storage/sql/sql.ts'
import { readLabels } from '../../storage/tables/object-labels.ts'
import { type ObjectWithValue, selectObjects } from '../../storage/tables/objects.ts'
import type { ObjectsFilter, QueryBody } from './contract.ts'
import { objectRecord } from './record.ts'

/** Versions with their values come few at a time, because each may be large. */
const rowsAtOnce = 100

/** One JSON text for each version. */
export async function* queryObjects(
  db: Database,
  caller: Caller,
  body: QueryBody,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { project_id } = body
  requireAccess(caller, project_id)
  const statement = selectObjects(db, {
    projectId: project_id,
    conditions: body.filter ? conditionsOf(project_id, body.filter) : [],
    order: orderOf(body.sort_by ?? []),
    limit: body.limit ?? null,
    offset: body.offset ?? 0,
    values: !body.metadata_only,
  })
  for await (const rows of db.stream<ObjectWithValue>(statement, { signal, rows: rowsAtOnce })) {
    const labels =
      body.include_tags_and_aliases && rows.length > 0 ? await readLabels(db, project_id, rows) : []
    for (const [index, row] of rows.entries()) yield writeJson(objectRecord(row, row.val, labels[index]))
  }
}

/** Lists are alternatives, the fields hold together; an empty list is no condition. */
export function conditionsOf(projectId: string, filter: ObjectsFilter): Sql[] {
  const conditions: Sql[] = []
  const among = (values: readonly string[] | null | undefined, column: string) => {
    if (values?.length) conditions.push(sql`${trusted(column)} IN (${listOf(values)})`)
  }
  among(filter.object_ids, 'objects.object_id')
  among(filter.base_object_classes, 'objects.base_object_class')
  among(filter.leaf_object_classes, 'objects.leaf_object_class')
  const excluded = filter.exclude_base_object_classes
  if (excluded?.length) {
    conditions.push(
      sql`(objects.base_object_class IS NULL OR objects.base_object_class NOT IN (${listOf(excluded)}))`,
    )
  }
  if (filter.is_op != null) {
    conditions.push(trusted(`objects.kind = '${filter.is_op ? 'op' : 'object'}'`))
  }
  if (filter.latest_only) conditions.push(trusted('objects.is_latest = 1'))
  const { tags, aliases } = filter
  if (tags?.length) conditions.push(labelled('object_tags', 'tag', projectId, tags))
  if (aliases?.length) {
    const alternatives = [labelled('object_aliases', 'alias', projectId, aliases)]
    if (aliases.includes('latest')) alternatives.push(trusted('objects.is_latest = 1'))
    conditions.push(sql`(${join(alternatives, ' OR ')})`)
  }
  return conditions
}

function labelled(table: string, column: string, projectId: string, labels: readonly string[]): Sql {
  return sql`EXISTS (SELECT 1 FROM ${trusted(table)} AS label WHERE label.project_id = ${projectId}
    AND label.object_id = objects.object_id AND label.digest = objects.digest
    AND label.${trusted(column)} IN (${listOf(labels)}))`
}

const sortable = ['object_id', 'created_at']

/** The oldest first unless asked otherwise; name and number decide between equals, so that pages fit together. */
export function orderOf(sortBy: NonNullable<QueryBody['sort_by']>): Sql[] {
  const order = sortBy.map(({ field, direction }, index) => {
    if (!sortable.includes(field)) {
      throw refuse('unknown_field', {
        field: `sort_by.${index}.field`,
        given: JSON.stringify(field),
        accepted: sortable.join(', '),
      })
    }
    return trusted(`objects.${field} ${direction === 'asc' ? 'ASC' : 'DESC'}`)
  })
  if (sortBy.length === 0) order.push(trusted('objects.created_at'))
  return [...order, trusted('objects.object_id'), trusted('objects.version_index')]
}
