import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createModels } from '../../src/inference/registry.ts'
import { createEventHub, type StreamEvent } from '../../src/operations/events/hub.ts'
import { type Change, createChangeCollector, createWatchers } from '../../src/storage/changes.ts'
import { payloadOf } from '../../src/storage/engines/postgres/notices.ts'

const call = (project: string, ...ids: string[]): Change => ({ project, kind: 'call', ids })

test('changes that pile up are reported once per project and kind, with each id once', () => {
  const pile = createChangeCollector()
  pile.add([call('a/b', '1', '2'), call('a/c', '1'), { ...call('a/b', '9'), kind: 'feedback' }])
  pile.add([call('a/b', '2', '3')])
  assert.deepEqual(pile.take(), [
    call('a/b', '1', '2', '3'),
    call('a/c', '1'),
    { project: 'a/b', kind: 'feedback', ids: ['9'] },
  ])
  assert.deepEqual(pile.take(), [])
})

test('a pile is bounded: too many ids are left out, and too many projects become unknown', () => {
  const pile = createChangeCollector()
  for (let id = 0; id < 5_000; id++) pile.add([call('a/b', String(id))])
  assert.deepEqual(pile.take(), [{ project: 'a/b', kind: 'call', ids: null }])
  for (let project = 0; project < 5_000; project++) pile.add([call(`a/${project}`, '1')])
  assert.equal(pile.take(), 'unknown')
  assert.deepEqual(pile.take(), [])
})

test('a PostgreSQL notification lists as much as fits into it', () => {
  const few = [call('a/b', '1')]
  assert.deepEqual(JSON.parse(payloadOf('me', few)), { from: 'me', changes: few })
  const ids = Array.from({ length: 500 }, (_, index) => `id-${index}-${'x'.repeat(30)}`)
  assert.deepEqual(JSON.parse(payloadOf('me', [call('a/b', ...ids)])), {
    from: 'me',
    changes: [{ project: 'a/b', kind: 'call', ids: null }],
  })
  const projects = ids.map((id) => call(`é/${id}`, '1'))
  assert.deepEqual(JSON.parse(payloadOf('me', projects)), { from: 'me' })
  assert.deepEqual(JSON.parse(payloadOf('me', 'unknown')), { from: 'me' })
})

test('a follower that is too far behind gets one resync event and continues from there', async (t) => {
  // The timers of the hub keep no process alive.
  const alive = setInterval(() => {}, 1_000)
  t.after(() => clearInterval(alive))
  const watchers = createWatchers()
  const hub = createEventHub({ watch: watchers.watch }, createModels([]))
  const leaving = new AbortController()
  const [slow, quick] = [0, 1].map(() =>
    hub.follow({ after: undefined, sees: () => true, signal: leaving.signal }),
  ) as [AsyncGenerator<StreamEvent>, AsyncGenerator<StreamEvent>]
  const next = async (stream: AsyncGenerator<StreamEvent>) => (await stream.next()).value as StreamEvent
  assert.equal((await next(slow)).name, 'open')
  assert.equal((await next(quick)).name, 'open')
  for (const half of [0, 1]) {
    watchers.tell(Array.from({ length: 800 }, (_, index) => call(`a/${half}-${index}`, '1')))
    // The quick follower keeps up.
    for (let index = 0; index < 800; index++) assert.equal((await next(quick)).name, 'change')
  }
  const missed = await next(slow)
  assert.deepEqual([missed.name, missed.data.seq], ['resync', 1])
  watchers.tell([call('a/b', '7')])
  const told = await next(slow)
  assert.deepEqual(told.data, { seq: 2, ...call('a/b', '7') })
  assert.equal(watchers.isWatched, true)
  hub.close()
  await next(quick)
  assert.equal((await slow.next()).done, true)
  assert.equal((await quick.next()).done, true)
  assert.equal(watchers.isWatched, false)
})
