import type { View } from '../../domain/view.ts'
import { rowsInOrder } from '../sql/rows-in-order.ts'
import { columnOrder } from '../sql/sorting.ts'
import { allOf, join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { BoundReader } from '../transaction.ts'
import { type ObjectWithValue, shownValue, versionColumns } from './objects.ts'

type Names = readonly string[] | null | undefined

/** The values of a list are alternatives, and all fields must hold; an empty list is no condition. */
interface ObjectsFilter {
  object_ids?: Names
  base_object_classes?: Names
  exclude_base_object_classes?: Names
  leaf_object_classes?: Names
  is_op?: boolean | null | undefined
  latest_only?: boolean | null | undefined
  tags?: Names
  aliases?: Names
}

interface ObjectsView extends View {
  filter: ObjectsFilter
  /** If false, every value is null. */
  values: boolean
}

/** Versions with values are read few at a time, because each may be large. */
const rowsAtOnce = 100

const sortable = { object_id: 'objects.object_id', created_at: 'objects.created_at' }

/**
 * Versions that are not deleted, oldest first by default; name and number break ties, so that pages neither overlap nor
 * skip.
 */
export function streamObjects(db: BoundReader, view: ObjectsView): AsyncIterable<ObjectWithValue[]> {
  const val = view.values ? shownValue(db) : rawSql('CAST(NULL AS TEXT) AS val')
  const last = ['objects.object_id', 'objects.version_index']
  const statement = rowsInOrder(db.dialect, {
    table: 'objects',
    columns: sql`${versionColumns}, ${val}`,
    matching: sql`FROM objects WHERE ${allOf([...conditionsOf(view), db.dialect.cancellable])}`,
    order: columnOrder(view.sort, sortable, ['objects.created_at'], last),
    page: view,
  })
  return db.stream<ObjectWithValue>(statement, { rows: rowsAtOnce })
}

function conditionsOf({ project, filter }: ObjectsView): Sql[] {
  const conditions = [sql`objects.project_id = ${project}`, rawSql('objects.deleted_at IS NULL')]
  const among = (values: Names, column: string) => {
    if (values?.length) conditions.push(sql`${rawSql(column)} IN (${listOf(values)})`)
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
  if (filter.is_op != null) conditions.push(rawSql(`objects.kind = '${filter.is_op ? 'op' : 'object'}'`))
  const isLatest = rawSql('objects.is_latest = 1')
  if (filter.latest_only) conditions.push(isLatest)
  const { tags, aliases } = filter
  if (tags?.length) conditions.push(labelled('object_tags', 'tag', project, tags))
  if (aliases?.length) {
    const alternatives = [labelled('object_aliases', 'alias', project, aliases)]
    if (aliases.includes('latest')) alternatives.push(isLatest)
    conditions.push(sql`(${join(alternatives, ' OR ')})`)
  }
  return conditions
}

function labelled(table: string, column: string, project: string, labels: readonly string[]): Sql {
  return sql`EXISTS (SELECT 1 FROM ${rawSql(table)} AS label WHERE label.project_id = ${project}
    AND label.object_id = objects.object_id AND label.digest = objects.digest
    AND label.${rawSql(column)} IN (${listOf(labels)}))`
}
