import assert from 'node:assert/strict'
import { openRecord } from '../../src/storage/open.ts'
import { keys, openApp } from './app.ts'
import { completeOf, startOf } from './calls.ts'
import { hostileTexts } from './hostile-texts.ts'
import { storeOneOfEach } from './one-of-each.ts'
import type { TestPostgres } from './postgres.ts'

/** The project that is exported and imported. */
export const project = 'acme/qa'

/** Two of its calls are running. */
export const callsOfProject = 464

export type Settings = Record<string, string>

/** Settings of a record: in the folder, or in a new database. */
export async function databaseSettings(folder: string, postgres?: TestPostgres): Promise<Settings> {
  return { HEDDLE_DATA: folder, ...(postgres && { HEDDLE_DATABASE_URL: await postgres.createDatabase() }) }
}

export async function withApp(
  settings: Settings,
  work: (opened: Awaited<ReturnType<typeof openApp>>) => Promise<void>,
) {
  const closing: (() => unknown)[] = []
  const place = { databaseUrl: settings.HEDDLE_DATABASE_URL ?? '', folder: settings.HEDDLE_DATA as string }
  const database = await openRecord({ ...place, queryTimeoutMs: 30_000 })
  const opened = await openApp(
    { after: (close: () => unknown) => void closing.push(close) },
    { database, sweep: false },
  )
  try {
    await work(opened)
  } finally {
    for (const close of closing) await close()
  }
}

/** Everything that a client can read of the project. */
export async function readAll(settings: Settings, of = project): Promise<Record<string, string>> {
  const read: Record<string, string> = {}
  await withApp(settings, async ({ post }) => {
    const ask = async (url: string, body: object) => {
      const { status, text } = await post(url, { project_id: of, ...body })
      assert.equal(status, 200, text)
      return text.replaceAll(of, '<project>')
    }
    read.calls = await ask('/calls/stream_query', { include_feedback: true })
    read.feedback = await ask('/feedback/query', {})
    read.objects = await ask('/objs/query', { include_tags_and_aliases: true })
    const { table } = JSON.parse(read.objects).objs.find(
      (one: { object_id: string }) => one.object_id === 'rows',
    ).val
    read.table = await ask('/table/query', { digest: table })
    read.files = await ask('/files/query_stats', {})
  })
  return read
}

/** A project with everything that an export has, in forms that are easily lost. */
export async function fill(settings: Settings): Promise<void> {
  await withApp(settings, async (opened) => {
    const { post } = opened
    const ask = async (url: string, body: unknown) => {
      const { status, text, json } = await post(url, body)
      assert.equal(status, 200, text)
      return json
    }
    await storeOneOfEach(opened, project, keys.alice)
    const batch = Array.from({ length: 450 }, (_, n) =>
      completeOf({
        project_id: project,
        started_at: new Date(1e12 + (n % 7) * 1000).toISOString(),
        inputs: { text: 'wörds 😀 \u2028'.repeat(n % 50 === 0 ? 9_000 : 1), zero: '\u0000\ud800' },
        output: n % 3 === 0 ? null : [0.1 + n, { n }],
        summary: n % 5 === 0 ? { weave: { own: 1, status: 'success' }, status_counts: { error: 1 } } : {},
        ...(n % 4 === 0 && { exception: 'it failed', thread_id: 't', svc_run_id: 'r', svc_run_step: n }),
      }),
    )
    await ask(`/v2/${project}/calls/complete`, { batch })
    const exact = JSON.stringify({ start: startOf({ project_id: project, inputs: {} }) })
    await ask(
      '/call/start',
      exact.replace('"inputs":{}', '"inputs":{"big":12345678901234567890,"one":1.0,"tiny":1e-400}'),
    )
    await ask('/call/start', { start: startOf({ project_id: project, expire_at: '2100-01-01T00:00:00Z' }) })
    await ask('/call/update', { project_id: project, call_id: batch[1]?.id, display_name: 'renamed' })
    const texts = hostileTexts.filter((text) => text.isWellFormed() && !text.includes('\0'))
    const hostile = texts.map((text) =>
      completeOf({
        project_id: project,
        op_name: text,
        display_name: text,
        thread_id: text,
        exception: text,
        inputs: Object.fromEntries(hostileTexts.map((one) => [one, [one, { [text]: text }]])),
        output: text,
      }),
    )
    await ask(`/v2/${project}/calls/complete`, { batch: hostile })
    const rows = Array.from({ length: 700 }, (_, n) => ({ n: n % 600, text: 'row '.repeat(n % 40) }))
    const { digest } = await ask('/table/create', { table: { project_id: project, rows } })
    const object = (val: unknown) =>
      ask('/obj/create', { obj: { project_id: project, object_id: 'rows', val } })
    await object({ table: digest })
    await object({ table: digest, second: true })
    await object({ table: digest })
  })
}
