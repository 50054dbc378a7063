import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { StorageRefusal } from '../../src/storage/failures.ts'
import { sqliteFile } from '../../src/storage/open.ts'
import { type Answer, keys, openApp } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { sized } from '../support/campaign-share.ts'
import { evaluationRunsOf } from '../support/evaluation-runs.ts'
import { storeOneOfEach } from '../support/one-of-each.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { newFolder } from '../support/server.ts'
import { campaign } from './campaign/length.ts'

const rounds = sized(2, 8) * campaign.faults

type Read = [method: 'GET' | 'POST', url: string, body?: object]

const [of, pageSize] = [{ project_id: project }, 4096]

/** A record with one thing of each kind, and every way to read it. */
async function wholeRecord(t: Parameters<typeof newFolder>[0]): Promise<{ bytes: Buffer; reads: Read[] }> {
  const file = sqliteFile(await newFolder(t))
  const database = await openSqlite({ file })
  const opened = await openApp(t, { database })
  const things = await storeOneOfEach(opened, project, keys.alice)
  const batch = Array.from({ length: 60 }, (_, number) =>
    completeOf({
      project_id: project,
      inputs: { number, text: 'x'.repeat((number * 97) % 3000), list: [{ a: 1 }, 'é"\\'] },
      output: { text: 'xyz'.repeat(number), number },
    }),
  )
  const { status, text } = await opened.post(`/v2/${project}/calls/complete`, { batch })
  assert.equal(status, 200, text)
  const evaluations = evaluationRunsOf(opened)
  const run = await evaluations.run()
  for (let n = 0; n < 10; n++) {
    const prediction = await evaluations.predict(run, { inputs: { n }, output: { text: 'y'.repeat(n * 50) } })
    await evaluations.score(run, prediction, 'tone', { mean: n / 10 })
    await evaluations.finishPrediction(prediction)
  }
  const { object, digest, table, queue, file: stored } = things
  const ref = (path: string) => `weave:///${project}/${path}`
  const readCalls = [...batch.map(({ id }) => id), things.call].map((id): Read => {
    return ['POST', '/call/read', { ...of, id, include_costs: true, include_total_storage_size: true }]
  })
  const field = (name: string) => ({ $getField: name })
  const number = { $expr: { $gt: [field('inputs.number'), { $literal: 3 }] } }
  const part = { $expr: { $contains: { input: field('output'), substr: { $literal: 'x' } } } }
  const sort_by = [{ field: 'inputs.text', direction: 'desc' }]
  const refs = [ref(`object/${object}:${digest}`)]
  const reads: Read[] = [
    ...readCalls,
    ['POST', '/calls/stream_query', { ...of, include_costs: true, include_feedback: true }],
    ['POST', '/calls/stream_query', { ...of, include_total_storage_size: true, query: number, sort_by }],
    ['POST', '/calls/stream_query', { ...of, query: part, expand_columns: ['inputs.list'] }],
    ['POST', '/calls/query_stats', { ...of, include_total_storage_size: true }],
    ['POST', '/feedback/query', of],
    ['POST', '/obj/read', { ...of, object_id: object, digest, include_tags_and_aliases: true }],
    ['POST', '/objs/query', of],
    ['POST', '/refs/read_batch', { refs }],
    ['POST', '/table/query', { ...of, digest: table }],
    ['POST', '/table/query_stats', { ...of, digest: table }],
    ['POST', '/files/content', { ...of, digest: stored }],
    ['POST', '/annotation_queues/query', of],
    ['GET', `/annotation_queues/${queue}?project_id=${encodeURIComponent(project)}`],
    ['POST', `/annotation_queues/${queue}/items/query`, of],
    ['POST', '/annotation_queues/stats', { ...of, queue_ids: [queue] }],
    ['POST', '/cost/query', of],
    [
      'POST',
      `/v2/${project}/eval_results/query`,
      { evaluation_call_ids: [run], include_summary: true, include_raw_data_rows: true },
    ],
  ]
  for (const [method, url, body] of reads) {
    const answer = await opened.send(method, url, body)
    assert.equal(answer.status, 200, `${url} ${JSON.stringify(body)}: ${answer.text}`)
  }
  await database.close()
  return { bytes: readFileSync(file), reads }
}

/** Damages some pages as disks, cables and other programs do. Returns a description. */
function damage(bytes: Buffer, random: () => number): string {
  const pick = (most: number) => Math.floor(random() * most)
  // The first page has the header, without which the file does not open.
  const page = () => pageSize * (1 + pick(bytes.length / pageSize - 1))
  const done: string[] = []
  for (let n = 1 + pick(4); n > 0; n--) {
    const from = page()
    const end = from + pageSize
    const at = from + pick(pageSize)
    const ways = {
      zeros: () => bytes.fill(0, from, end),
      half: () => bytes.fill(0xa5, from + pageSize / 2, end),
      noise: () => Array.from({ length: 40 }, () => bytes.writeUInt8(pick(256), from + pick(pageSize))),
      letters: () =>
        Array.from({ length: 200 }, (_, i) => (bytes[Math.min(at + i, end - 1)] = 32 + pick(90))),
      bit: () => bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << pick(8)), at),
      shift: () => bytes.copyWithin(from, page()),
      other: () => Buffer.from(bytes.subarray(page(), bytes.length).subarray(0, pageSize)).copy(bytes, from),
    }
    const [name, change] = Object.entries(ways)[pick(Object.keys(ways).length)] as [string, () => unknown]
    change()
    done.push(`${name} in page ${from / pageSize + 1}`)
  }
  return done.join(', ')
}

/** What is wrong with an answer, if anything. */
function faultOf({ status, text, headers }: Answer): string | undefined {
  if (status === 500) return '500'
  const type = String(headers['content-type'])
  if (!type.includes('json')) return undefined
  try {
    for (const part of /jsonl|ndjson/.test(type) ? text.split('\n').filter(Boolean) : [text]) JSON.parse(part)
    return undefined
  } catch (error) {
    return `${status} with what is no JSON: ${(error as Error).message}`
  }
}

test('with a damaged record no answer is a 500, or a 200 with invalid JSON', async (t) => {
  t.diagnostic(`seed ${campaign.seed}`)
  const random = seededRandom(campaign.seed)
  const { bytes, reads } = await wholeRecord(t)
  for (let round = 0; round < rounds; round++) {
    const damaged = Buffer.from(bytes)
    const what = damage(damaged, random)
    await t.test(`round ${round}: ${what}`, async (t) => {
      const file = sqliteFile(await newFolder(t))
      writeFileSync(file, damaged)
      const database = await openSqlite({ file }).catch((error: unknown) => {
        assert.ok(error instanceof StorageRefusal, String(error))
      })
      // A start that fails with one line is also accepted.
      if (database === undefined) return
      const { send } = await openApp(t, { database, checkAnswers: false })
      const faults: string[] = []
      for (const [method, url, body] of reads) {
        // An answer that had begun and was cut off does not count.
        const answer = await send(method, url, body).catch(() => undefined)
        const fault = answer && faultOf(answer)
        if (fault) faults.push(`${url} ${JSON.stringify(body)}: ${fault}`)
      }
      assert.deepEqual(faults, [])
    })
  }
})
