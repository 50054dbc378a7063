import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExpressionText } from '../../src/domain/expressions/parse.ts'
import { feedbackFields } from '../../src/operations/feedback/fields.ts'
import { compileCondition } from '../../src/storage/expressions.ts'
import { countFeedback, selectFeedback } from '../../src/storage/feedback.ts'
import { readLabels } from '../../src/storage/object-labels.ts'
import { deleteObjects, keepObject, readValues, readVersions } from '../../src/storage/objects.ts'
import { takeNextItem } from '../../src/storage/queue-progress.ts'
import { addQueue } from '../../src/storage/queues.ts'
import { sql, trusted } from '../../src/storage/sql.ts'
import { openPlanned } from '../support/query-plans.ts'
import { queueRow } from '../support/stored-queues.ts'

const project = 'acme/qa'

test('the feedback of a thing is found by the thing, in its order', (t) => {
  const { tx, planOf } = openPlanned(t)
  const asked = '{"$expr":{"$eq":[{"$getField":"svc_ref"},{"$literal":"weave:///acme/qa/call/1"}]}}'
  const conditions = [compileCondition(parseExpressionText(asked), feedbackFields('query'), tx.dialect)]
  const order = [trusted('created_at'), trusted('id')]
  const query = { projectId: project, conditions, order, limit: null, offset: 0 }
  const byRef = 'INDEX feedback_of_ref (project_id=? AND svc_ref=?)'
  assert.deepEqual(planOf(selectFeedback(tx, query, [trusted('*')])), [`SEARCH feedback USING ${byRef}`])
  assert.deepEqual(planOf(countFeedback(tx, query)), [`SEARCH feedback USING COVERING ${byRef}`])
})

test('a new version looks at no more of the others than it has to', async (t) => {
  const { tx, plans } = openPlanned(t)
  const object = {
    project_id: project,
    object_id: 'o',
    kind: 'object',
    base_object_class: 'Model',
    leaf_object_class: 'Model',
    val: '{}',
    size: 2,
    user_id: 'alice',
    now: 1,
  } as const
  await keepObject(tx, { ...object, digest: 'a' })
  const ofName = '(project_id=? AND object_id=?)'
  assert.deepEqual(plans(), [
    ['SEARCH objects USING INDEX objects_with_class (project_id=? AND object_id=? AND base_object_class>?)'],
    [`SEARCH objects USING INDEX objects_by_recency ${ofName}`],
    ['SEARCH objects USING INDEX sqlite_autoindex_objects_1 (project_id=? AND object_id=? AND digest=?)'],
    [`SEARCH objects USING INDEX objects_latest ${ofName}`],
    [`SEARCH objects USING INDEX objects_by_version ${ofName}`],
    [],
  ])
  await deleteObjects(tx, { project_id: project, object_id: 'o', only: null, versions: ['a'], now: 2 })
  assert.deepEqual(plans().at(-1), [
    'SEARCH objects USING INDEX objects_by_recency (project_id=? AND object_id=? AND recency=?)',
    `SEARCH objects USING INDEX objects_by_recency ${ofName}`,
  ])
})

test('versions are looked up one by one, not all names by all digests', async (t) => {
  const { tx, plans } = openPlanned(t)
  const versions = ['a', 'b', 'c'].map((name) => ({ object_id: name, digest: name.toUpperCase() }))
  await readVersions(
    tx,
    project,
    versions.map(({ object_id, digest }) => ({ name: object_id, digest })),
  )
  await readValues(tx, project, versions)
  await readLabels(tx, project, versions)
  const found = plans().map(([first]) => first?.replace(/^.*\(/, '('))
  assert.deepEqual(found, Array(4).fill('(project_id=? AND object_id=? AND digest=?)'))
})

test('who has finished a queue is told so without a look at its items', async (t) => {
  const { tx, plans } = openPlanned(t)
  await addQueue(tx, queueRow(project))
  await tx.run(
    sql`INSERT INTO annotation_queue_items (project_id, id, queue_id, position, call_id, call_op_name, call_trace_id,
          call_started_at, display_fields, added_at, added_by, finished_by)
        VALUES (${project}, 'i', 'queue', 1, 'c', 'op', 't', 1, '[]', 1, 'alice', 1)`,
  )
  await tx.run(
    sql`INSERT INTO annotation_finished (project_id, queue_id, annotator, items) VALUES (${project}, 'queue', 'alice', 1)`,
  )
  plans()
  const asked = { project_id: project, queue_id: 'queue', annotators: 2, now: 2, lease: 1 }
  assert.deepEqual(await takeNextItem(tx, { ...asked, annotator: 'alice' }), { item: null, leased: 0 })
  assert.deepEqual(plans(), [
    ['SEARCH annotation_queues USING INDEX sqlite_autoindex_annotation_queues_1 (project_id=? AND id=?)'],
    [
      'SEARCH annotation_finished USING INDEX sqlite_autoindex_annotation_finished_1 (project_id=? AND queue_id=? AND annotator=?)',
    ],
    ['SEARCH item USING COVERING INDEX annotation_queue_items_in_order (project_id=? AND queue_id=?)'],
  ])
  assert.equal((await takeNextItem(tx, { ...asked, annotator: 'bob' })).item?.id, 'i')
})
