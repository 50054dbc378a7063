import assert from 'node:assert/strict'
import { test } from 'node:test'
import Sqlite from 'better-sqlite3'
import { now } from '../../src/domain/time.ts'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { sqliteFile } from '../../src/storage/open.ts'
import { wholePart } from '../support/call-parts.ts'
import { runCommand } from '../support/commands.ts'
import { newFolder } from '../support/server.ts'

const project = 'acme/qa'

function trial(n: number) {
  const inputs = JSON.stringify({ example: { n: n % 50 } })
  const output = JSON.stringify({ output: n, scores: { judge: { passed: n % 2 === 0, score: n / 4 } } })
  const start = { parent_id: `e${n % 2}`, op_name: 'Evaluation.predict_and_score', inputs }
  return wholePart(project, `t${n}`, start, { output })
}

/** Possible damage to derived results: a statement that causes it, and the message about it. */
const damages: [statement: string, complaint: RegExp][] = [
  [
    `UPDATE eval_trials SET scores = '{"judge":1}' WHERE trial_id = 't3'`,
    /trial t3 of evaluation e1 in acme\/qa/,
  ],
  [`UPDATE eval_trials SET v1 = v1 + 1 WHERE trial_id = 't4'`, /trial t4 of evaluation e0/],
  [`UPDATE eval_trials SET evaluation_id = 'e0' WHERE trial_id = 't5'`, /trial t5 of evaluation e1/],
  [`DELETE FROM eval_trials WHERE trial_id = 't6'`, /trial t6 of evaluation e0/],
  [`UPDATE eval_shapes SET leaves = '[[1,"judge"]]'`, /trial t0 of evaluation e0/],
  [`UPDATE eval_row_sets SET row_count = row_count + 1 WHERE evaluation_id = 'e1'`, /rows of evaluation e1/],
  [`DELETE FROM calls WHERE id = 't8'`, /trial t8 of evaluation e0/],
]

test('`heddle db check` finds results that differ from the calls, and derives them again on request', async (t) => {
  const folder = await newFolder(t)
  const file = sqliteFile(folder)
  const db = await openSqlite({ file })
  await db.write(
    'upsertCalls',
    Array.from({ length: 200 }, (_, n) => trial(n)),
  )
  await db.close()
  const owed = await runCommand(['db', 'check'], { HEDDLE_DATA: folder })
  assert.deepEqual(
    [owed.code, owed.out, owed.err],
    [0, 'The record is sound.\n', ''],
    'pending results are not damage',
  )
  const behind = await openSqlite({ file })
  while (await behind.writeInBackground('deriveNext', { limit: 50, now: now() }));
  await behind.close()
  const check = (...options: string[]) => runCommand(['db', 'check', ...options], { HEDDLE_DATA: folder })

  const sound = await check()
  assert.deepEqual([sound.code, sound.out, sound.err], [0, 'The record is sound.\n', ''])
  for (const [statement, complaint] of damages) {
    const handle = new Sqlite(file)
    assert.ok(handle.prepare(statement).run().changes > 0, statement)
    handle.close()
    const damaged = await check()
    assert.equal(damaged.code, 1, statement)
    assert.match(damaged.err, complaint, statement)
    assert.match(damaged.err, /--rebuild/)
    const rebuilt = await check('--rebuild')
    assert.equal(rebuilt.code, 0, rebuilt.err)
    assert.match(rebuilt.out, /^Derived \d+ trials of 2 evaluations again\.$/m)
    const again = await check()
    assert.deepEqual([again.code, again.err], [0, ''], statement)
  }
  assert.equal((await check('--mend')).code, 2)
})
