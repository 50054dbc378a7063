import assert from 'node:assert/strict'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { uuidv7 } from 'uuidv7'
import { project, startOf } from '../support/calls.ts'
import { evaluation, evaluationRunsOf } from '../support/evaluation-runs.ts'
import { newFolder } from '../support/server.ts'
import { until } from '../support/wait.ts'
import {
  accepted,
  type ComposeProject,
  composeProject,
  docker,
  key,
  noContainers,
} from './compose-project.ts'

const reason = await noContainers()
if (reason) console.log(`The containers are not tried: ${reason}.`)

const freePort = () =>
  new Promise<string>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      assert.ok(typeof address === 'object' && address !== null)
      server.close(() => resolve(String(address.port)))
    })
  })

const chat = { messages: [{ role: 'user', content: 'Hello' }] }
const endless = { ...chat, stream: true, ignore_eos: true, max_tokens: 1_900 }

/** The five operations of the specification, each with an answer that was just made. */
async function runFiveOperations({ post }: ComposeProject): Promise<void> {
  const answer = await accepted(post('/v1/chat/completions', chat))
  assert.notEqual(answer.choices[0].message.content, '')
  const { id } = startOf()
  await accepted(post('/call/start', { start: startOf({ id }) }))
  const { call } = await accepted(post('/call/read', { project_id: project, id }))
  assert.equal(call.id, id)
  const note = { feedback_type: 'wandb.note.1', payload: { note: 'right' } }
  const about = { project_id: project, weave_ref: `weave:///${project}/call/${id}` }
  await accepted(post('/feedback/create', { ...about, ...note }))
  const queue = await accepted(
    post('/annotation_queues', { project_id: project, name: `of ${id}`, scorer_refs: [] }),
  )
  await accepted(
    post(`/annotation_queues/${queue.id}/items`, { project_id: project, call_ids: [id], display_fields: [] }),
  )
  const { items } = await accepted(
    post(`/annotation_queues/${queue.id}/items/query`, { project_id: project, limit: 1 }),
  )
  const progress = { project_id: project, annotation_state: 'completed' }
  await accepted(post(`/annotation_queues/${queue.id}/items/${items[0].id}/progress`, progress))
  const runs = evaluationRunsOf({
    async post(url, body) {
      const response = await post(url, body)
      const text = await response.text()
      return { status: response.status, text, headers: {}, json: JSON.parse(text) }
    },
  })
  const run = await runs.run({ evaluation })
  await runs.finishPrediction(await runs.predict(run))
  const results = await accepted(
    post(`/v2/${project}/eval_results/query`, { evaluation_call_ids: [run], include_summary: true }),
  )
  assert.equal(results.rows.length, 1)
}

/** Starts calls, many at a time, until it is stopped; the ids are those that the server has acknowledged. */
function writeCalls({ post }: ComposeProject) {
  const acknowledged: string[] = []
  let isOver = false
  const writer = async () => {
    while (!isOver) {
      const { id } = startOf()
      const isWritten = await post('/call/start', { start: startOf({ id }) }).then(
        (response) => response.text().then(() => response.status === 200),
        () => false,
      )
      if (isWritten) acknowledged.push(id)
    }
  }
  const writers = Array.from({ length: 16 }, writer)
  return {
    acknowledged,
    async stop() {
      isOver = true
      await Promise.all(writers)
    },
  }
}

async function allRead({ post }: ComposeProject, ids: readonly string[]): Promise<void> {
  const lines = await post('/calls/stream_query', {
    project_id: project,
    columns: ['id'],
  })
  const read = new Set(
    (await lines.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).id),
  )
  assert.deepEqual(
    ids.filter((id) => !read.has(id)),
    [],
  )
}

/** Reads a stream until it ends, and says how: with its last event, or without. */
async function lastEventOf(response: Response): Promise<string> {
  const text = await response.text()
  return text.trim().split('\n').at(-1) ?? ''
}

const exitCodeOf = (id: string) => docker('inspect', '--format', '{{.State.ExitCode}}', id)

describe('the image and docker/compose.yaml', { skip: reason }, () => {
  const files = ['docker/compose.yaml']
  before(async () => {
    const build = composeProject({ after() {} }, 'heddle-build', files, { port: '1' })
    await build.compose('build')
    const size = Number(await docker('image', 'inspect', '--format', '{{.Size}}', 'heddle'))
    const base = Number(await docker('image', 'inspect', '--format', '{{.Size}}', 'node:24-bookworm-slim'))
    console.log(
      `The image is ${Math.round((size - base) / 1e6)} MB on top of its base of ${Math.round(base / 1e6)}.`,
    )
  })

  async function started(t: Parameters<typeof composeProject>[0], name: string): Promise<ComposeProject> {
    const served = composeProject(t, name, files, { port: await freePort() })
    await served.compose('up', '-d', '--no-build')
    await served.ready()
    return served
  }

  test('the five operations answer through the published port, and the container is confined', async (t) => {
    const served = await started(t, 'heddle-five')
    await runFiveOperations(served)
    const [id = ''] = await served.containers('heddle')
    await until(
      'the container is healthy',
      async () => (await docker('inspect', '--format', '{{.State.Health.Status}}', id)) === 'healthy',
    )
    assert.equal(await docker('exec', id, 'id', '-u'), '1000')
    await assert.rejects(docker('exec', id, 'touch', '/app/file'), /Read-only file system/)
    const layers =
      (await docker('history', '--no-trunc', 'heddle')) + (await docker('image', 'inspect', 'heddle'))
    assert.ok(!layers.includes(key))
    await served.compose('stop')
    assert.equal(await exitCodeOf(id), '0')
  })

  test('nothing that was acknowledged is lost by kill -9 under load', async (t) => {
    const served = await started(t, 'heddle-kill')
    const writing = writeCalls(served)
    await until('some calls are written', () => writing.acknowledged.length > 500)
    const [id = ''] = await served.containers('heddle')
    await docker('kill', '--signal', 'KILL', id)
    await writing.stop()
    await docker('start', id)
    await served.ready()
    await allRead(served, writing.acknowledged)
  })

  test('a container that is stopped ends its 40 streams with an event', async (t) => {
    const served = await started(t, 'heddle-stop')
    const streams = await Promise.all(
      Array.from({ length: 40 }, () => served.post('/v1/chat/completions', endless)),
    )
    const ends = Promise.all(streams.map(lastEventOf))
    const [id = ''] = await served.containers('heddle')
    await served.compose('stop')
    for (const end of await ends) assert.match(end, /^data: (\[DONE\]|\{.*"stopping".*\})$/)
    assert.equal(await exitCodeOf(id), '0')
  })

  test('a volume of the release before is read and upgraded', async (t) => {
    const served = composeProject(t, 'heddle-upgrade', files, { port: await freePort() })
    await served.compose('up', '--no-start', '--no-build')
    const [id = ''] = await served.containers('heddle')
    const fixture = (ending: string) =>
      gunzipSync(readFileSync(new URL(`../fixtures/release-0.1.0.${ending}.gz`, import.meta.url)))
    const file = join(await newFolder(t), 'heddle.db')
    writeFileSync(file, fixture('sqlite'))
    // In the container it belongs to root, and the server is another user.
    chmodSync(file, 0o666)
    await docker('cp', file, `${id}:/data/heddle.db`)
    await served.compose('up', '-d', '--no-build')
    await served.ready()
    const release = JSON.parse(fixture('json').toString()) as { key: string; project: string }
    await until('the record answers', async () => (await served.get('/ready')).ok)
    const stats = await accepted(served.post('/calls/query_stats', { project_id: release.project }))
    assert.ok(stats.count > 150, `${stats.count} calls`)
  })
})

describe('docker/compose.scale.yaml', { skip: reason }, () => {
  test('three servers behind the balancer answer, and lose nothing when one is killed', async (t) => {
    const files = ['docker/compose.scale.yaml', 'test/live/compose.model.yaml']
    const served = composeProject(t, 'heddle-scale', files, {
      port: await freePort(),
      DATABASE_PASSWORD: uuidv7(),
      HEDDLE_UPSTREAM_KEY: key,
      HEDDLE_MODEL: 'http://model:8000/v1',
    })
    await served.compose('up', '-d', '--no-build', '--scale', 'heddle=3')
    await served.ready()
    await runFiveOperations(served)
    const ids = await served.containers('heddle')
    assert.equal(ids.length, 3)
    const writing = writeCalls(served)
    await until('some calls are written', () => writing.acknowledged.length > 500)
    await docker('kill', '--signal', 'KILL', ids[0] as string)
    const before = writing.acknowledged.length
    await until('the others go on', () => writing.acknowledged.length > before + 500)
    await writing.stop()
    await allRead(served, writing.acknowledged)
    await served.compose('stop')
    for (const id of ids.slice(1)) assert.equal(await exitCodeOf(id), '0')
  })
})
