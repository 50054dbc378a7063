import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect } from '../../src/storage/engines/sqlite/connection.ts'
import { createLogCheck } from '../../src/storage/engines/sqlite/log.ts'
import { newFolder } from '../support/server.ts'

const passive = 'wal_checkpoint(PASSIVE)'

/** A record whose writer checks the log after each write, with a connection that empties it and one that reads. */
async function open(t: TestContext) {
  const file = join(await newFolder(t), 'record.sqlite')
  const writer = connect(file, 'write').handle
  const thread = connect(file, 'read').handle
  const reader = connect(file, 'read').handle
  t.after(() => {
    for (const handle of [reader, thread, writer]) handle.close()
  })
  let takenOver = 0
  const pragma = writer.pragma.bind(writer)
  writer.pragma = (text, options) => {
    if (text === passive) takenOver++
    return pragma(text, options)
  }
  writer.exec('CREATE TABLE kept (bytes BLOB)')
  const isLong = createLogCheck(writer, { long: 20, large: 60 })
  const insert = writer.prepare('INSERT INTO kept VALUES (zeroblob(?))')
  const logOf = () => {
    const [found] = pragma('wal_checkpoint(NOOP)') as [{ log: number; checkpointed: number }]
    return { log: found.log, waiting: found.log - found.checkpointed }
  }
  function startReading() {
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM kept').get()
  }
  return {
    logOf,
    startReading,
    takenOver: () => takenOver,
    stopReading: () => reader.exec('COMMIT'),
    /** Returns whether the thread should empty the log. */
    write(pages: number): boolean {
      insert.run(pages * 4096)
      return isLong()
    },
    /** Makes the log this long: whenever the thread empties it, something else has been written meanwhile. */
    fill(pages: number) {
      for (let n = 0; n < pages && logOf().log < pages; n++) {
        startReading()
        insert.run(1)
        thread.pragma(passive)
        reader.exec('COMMIT')
      }
      assert.ok(logOf().log >= pages && logOf().waiting > 0)
    },
  }
}

test('the thread is asked to empty a long log, and the writer does not wait for it', async (t) => {
  const { write, takenOver } = await open(t)
  assert.equal(write(1), false)
  assert.equal(write(25), true)
  assert.equal(takenOver(), 0)
})

test('the writer copies what the thread has left of a large log, so that the log starts again', async (t) => {
  const { fill, write, takenOver, logOf } = await open(t)
  fill(60)
  assert.equal(write(1), false)
  assert.deepEqual([takenOver(), logOf().waiting], [1, 0])
  write(1)
  assert.ok(logOf().log < 60)
})

test('a large recent write is left to the thread, however long the log is', async (t) => {
  const { fill, write, takenOver, logOf } = await open(t)
  fill(60)
  assert.equal(write(30), true)
  assert.equal(takenOver(), 0)
  assert.ok(logOf().waiting > 30)
})

test('the writer empties the whole log if the thread does not get to it', async (t) => {
  const { write, logOf } = await open(t)
  write(70)
  assert.equal(logOf().waiting, 0)
})

test('while a reader holds the log, the writer tries again only when the log has grown', async (t) => {
  const { startReading, stopReading, fill, write, takenOver, logOf } = await open(t)
  fill(60)
  startReading()
  write(1)
  write(1)
  assert.equal(takenOver(), 1)
  write(70)
  assert.equal(takenOver(), 2)
  stopReading()
  write(70)
  write(1)
  assert.ok(logOf().log < 60)
})
