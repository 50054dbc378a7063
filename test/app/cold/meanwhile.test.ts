import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanAtOnce, cleanSome } from '../../../src/storage/cold/cleaning.ts'
import type { ColdStore } from '../../../src/storage/cold/store.ts'
import { project } from '../../support/calls.ts'
import {
  coldCall,
  coldParts,
  folderWith,
  moveAll,
  never,
  openWithCalls,
  sweep,
  type Taken,
} from './cold-app.ts'

const documents = [
  '/calls/stream_query',
  '/calls/export',
  '/agents/spans/query',
  '/views/columns',
  '/call/read',
] as const

test('cold calls: what an erasure writes anew between a row and its file is read, and what it erases is gone', async (t) => {
  for (const url of documents) {
    const [gone, left] = [coldCall('Gone'), coldCall('Kurt')]
    const taken: Taken = {}
    const { database, post, ok } = await openWithCalls(t, [gone, left], (folder) => folderWith(folder, taken))
    await moveAll(database, project)
    taken.before = async () => {
      await ok('/calls/delete', { project_id: project, call_ids: [gone.id] })
      await sweep(database)
      await cleanAtOnce(coldParts(database), project, never)
    }
    const named = { '/call/read': { id: left.id }, '/agents/spans/query': { include_details: true } }
    const { status, text } = await post(url, {
      project_id: project,
      ...named[url as keyof typeof named],
    })
    assert.equal(taken.before, undefined, url)
    assert.equal(status, 200, text)
    assert.doesNotMatch(text, /cold_|cold:|of Gone|for Gone/, url)
    if (!/columns|spans/.test(url)) assert.match(text, /answer for Kurt/, url)
  }
})

test('cold calls: a cleaning whose file another server writes anew meanwhile reports no damage', async (t) => {
  const [gone, left] = [coldCall('Gone'), coldCall('Kurt')]
  const { database, ok, read } = await openWithCalls(t, [gone, left])
  await moveAll(database, project)
  const { bare, store } = coldParts(database)
  await ok('/calls/delete', { project_id: project, call_ids: [gone.id] })
  await sweep(database)
  const time = { now: 0, atOnce: true }
  const late = {
    ...store,
    async read(...question: Parameters<ColdStore['read']>) {
      await cleanAtOnce({ bare, store }, project, never)
      return store.read(...question)
    },
  }
  assert.equal(await cleanSome({ bare, store: late }, project, time, never), 0)
  assert.equal((await read(left.id)).json.call.output, left.output)
})
