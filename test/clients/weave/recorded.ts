import assert from 'node:assert/strict'
import { type Digits, parseWithDigits } from '../../support/digits.ts'
import type { Exchange } from '../../support/recording-proxy.ts'
import type { RunningServer } from '../../support/server.ts'
import { type Fields, filesNamedIn, type Sent, type SentCall, sentIn, textsIn } from './sent.ts'

export interface Counts {
  calls: number
  objects: number
  tables: number
  files: number
  feedback: number
}

interface Expected {
  server: RunningServer
  project: string
  /** Feedback that the program removed again. */
  purged?: readonly string[]
}

/** The unsuccessful answers, for a test to list. */
export function refusalsIn(exchanges: readonly Exchange[]): { path: string; status: number }[] {
  return exchanges.flatMap(({ path, status }) => (status >= 200 && status < 300 ? [] : [{ path, status }]))
}

/** Compares the record with everything that was sent, field by field, and checks that nothing else was stored. */
export async function assertRecorded(exchanges: readonly Exchange[], expected: Expected): Promise<Counts> {
  const sent = await sentIn(exchanges)
  for (const id of expected.purged ?? []) sent.feedback.delete(id)
  const values = await assertObjects(sent, expected)
  await assertCalls(sent, expected)
  await assertTables(sent, expected)
  await assertFiles(sent, expected)
  await assertFeedback(sent, expected)
  await assertReferences(sent, values, expected)
  const { calls, objects, tables, files, feedback } = sent
  return {
    calls: calls.size,
    objects: objects.size,
    tables: tables.size,
    files: files.size,
    feedback: feedback.size,
  }
}

async function ask({ server }: Expected, path: string, body: unknown): Promise<Response> {
  const answer = await server.post(path, body)
  if (answer.status !== 200) assert.fail(`${path} answered ${answer.status}: ${await answer.text()}`)
  return answer
}

async function read(expected: Expected, path: string, body: unknown): Promise<Fields> {
  return parseWithDigits(await (await ask(expected, path, body)).text()) as Fields
}

async function assertCalls({ calls }: Sent, expected: Expected): Promise<void> {
  const { project } = expected
  const lines = await (
    await ask(expected, '/calls/stream_query', { project_id: project, columns: ['id'] })
  ).text()
  const found = lines.split('\n').filter((line) => line !== '')
  const ids = found.map((line) => (JSON.parse(line) as { id: string }).id)
  assert.deepEqual(ids.sort(), [...calls.keys()].sort())
  for (const [id, call] of calls) {
    const { call: record } = (await read(expected, '/call/read', { project_id: project, id })) as {
      call: Fields
    }
    for (const time of ['started_at', 'ended_at']) record[time] = asTime(record[time])
    assert.deepEqual(record, expectedRecord(id, call, failedBelow(call, calls)))
  }
}

function asTime(time: unknown): string | null {
  return time === null || time === undefined ? null : new Date(String(time)).toISOString()
}

/** Whether this is a root, and a call of its trace has failed. */
function failedBelow({ start }: SentCall, calls: ReadonlyMap<string, SentCall>): boolean {
  if (start?.parent_id) return false
  return [...calls.values()].some(
    (other) =>
      other.start?.parent_id && other.start.trace_id === start?.trace_id && Boolean(other.end?.exception),
  )
}

function expectedRecord(id: string, { start, end, displayName }: SentCall, hasFailure: boolean): Fields {
  assert.ok(start, `${id} was never started`)
  const started_at = asTime(start.started_at)
  const ended_at = asTime(end?.ended_at)
  const exception = typeof end?.exception === 'string' ? end.exception.toWellFormed() : null
  const latency = ended_at && { latency_ms: whole(Date.parse(ended_at) - Date.parse(String(started_at))) }
  const weave = {
    status: exception ? 'error' : end ? (hasFailure ? 'descendant_error' : 'success') : 'running',
    ...latency,
    ...(displayName ? { display_name: displayName } : { trace_name: shortName(String(start.op_name)) }),
  }
  return {
    id,
    project_id: start.project_id,
    op_name: start.op_name,
    display_name: displayName || null,
    trace_id: start.trace_id ?? id,
    parent_id: start.parent_id ?? null,
    thread_id: null,
    turn_id: null,
    started_at,
    ended_at,
    exception,
    attributes: start.attributes,
    inputs: start.inputs,
    output: end?.output ?? null,
    summary: { ...(end?.summary as Fields | undefined), weave },
    svc_user_id: 'alice',
    svc_username: 'alice',
    svc_run_id: null,
    svc_run_step: null,
    svc_run_step_end: null,
    wb_user_id: 'alice',
    wb_username: 'alice',
    wb_run_id: null,
    wb_run_step: null,
    wb_run_step_end: null,
    expire_at: null,
    deleted_at: null,
    storage_size_bytes: null,
    total_storage_size_bytes: null,
  }
}

function whole(number: number): Digits {
  return { digits: String(number) }
}

/** Of `weave:///acme/qa/op/answer:digest`, `answer`. */
function shortName(opName: string): string {
  return opName.startsWith('weave:///') ? (opName.split('/').at(-1)?.split(':')[0] as string) : opName
}

/** Returns the value of each object by its ref. */
async function assertObjects({ objects }: Sent, expected: Expected): Promise<Map<string, unknown>> {
  const { project } = expected
  const { objs } = (await read(expected, '/objs/query', { project_id: project, metadata_only: true })) as {
    objs: { object_id: string; digest: string; version_index: Digits }[]
  }
  assert.deepEqual(
    objs.map(({ object_id, digest }) => `${object_id}:${digest}`).sort(),
    [...objects.keys()].sort(),
  )
  for (const [name, versions] of Map.groupBy(objs, ({ object_id }) => object_id)) {
    const indexes = versions.map(({ version_index }) => Number(version_index.digits)).sort((a, b) => a - b)
    assert.deepEqual(indexes, [...versions.keys()], `the versions of ${name}`)
  }

  const values = new Map<string, unknown>()
  for (const { object_id, digest, val } of objects.values()) {
    const { obj } = (await read(expected, '/obj/read', { project_id: project, object_id, digest })) as {
      obj: Fields
    }
    const { _class_name, weave_type } = val as { _class_name?: string; weave_type?: { type: string } }
    const kind = weave_type?.type === 'Op' ? 'op' : 'object'
    assert.deepEqual(
      pick(obj, [
        'project_id',
        'object_id',
        'digest',
        'val',
        'kind',
        'leaf_object_class',
        'deleted_at',
        'svc_user_id',
      ]),
      {
        project_id: project,
        object_id,
        digest,
        val,
        kind,
        leaf_object_class: _class_name ?? null,
        deleted_at: null,
        svc_user_id: 'alice',
      },
    )
    values.set(`weave:///${project}/${kind}/${object_id}:${digest}`, val)
  }
  return values
}

function pick(record: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, record[name]]))
}

async function assertTables({ tables }: Sent, expected: Expected): Promise<void> {
  for (const [digest, { rows, rowDigests }] of tables) {
    const found = (await read(expected, '/table/query', { project_id: expected.project, digest })) as {
      rows: { digest: string; val: unknown }[]
    }
    assert.deepEqual(
      found.rows.map(({ val }) => val),
      rows,
    )
    assert.deepEqual(
      found.rows.map((row) => row.digest),
      rowDigests,
    )
  }
}

async function assertFiles(sent: Sent, expected: Expected): Promise<void> {
  for (const [digest, content] of sent.files) {
    const answer = await ask(expected, '/file/content', { project_id: expected.project, digest })
    assert.ok(content.equals(Buffer.from(await answer.arrayBuffer())), `the bytes of ${digest}`)
  }
  const named = new Set(filesNamedIn(valuesOf(sent)))
  for (const digest of named) assert.ok(sent.files.has(digest), `no request stored the file ${digest}`)
}

async function assertFeedback({ feedback }: Sent, expected: Expected): Promise<void> {
  const { result } = (await read(expected, '/feedback/query', { project_id: expected.project })) as {
    result: Fields[]
  }
  const byId = new Map(result.map((row) => [row.id as string, row]))
  assert.deepEqual([...byId.keys()].sort(), [...feedback.keys()].sort())
  assert.equal(result.length, feedback.size)
  for (const [id, sent] of feedback) {
    const { payload, created_at, ...row } = byId.get(id) as Fields
    assert.ok(asTime(created_at))
    // The server adds the names of its emoji to a reaction.
    assert.deepEqual({ ...(payload as Fields), ...(sent.payload as Fields) }, payload)
    if (sent.feedback_type !== 'wandb.reaction.1') assert.deepEqual(payload, sent.payload)
    assert.deepEqual(row, {
      id,
      project_id: expected.project,
      svc_ref: sent.weave_ref,
      weave_ref: sent.weave_ref,
      svc_user_id: 'alice',
      wb_user_id: 'alice',
      feedback_type: sent.feedback_type,
      creator: sent.creator ?? null,
      annotation_ref: null,
      runnable_ref: sent.runnable_ref ?? null,
      call_ref: sent.call_ref ?? null,
      trigger_ref: null,
      queue_id: null,
    })
  }
}

/** Every ref that a client sent can be resolved. */
async function assertReferences(sent: Sent, values: Map<string, unknown>, expected: Expected): Promise<void> {
  const start = `weave:///${expected.project}/`
  const refs = [...new Set(textsIn(valuesOf(sent)))].filter((text) => text.startsWith(start))
  const kindOf = (ref: string) => ref.slice(start.length).split('/')[0]
  const byKind = Map.groupBy(refs, kindOf)
  for (const ref of byKind.get('call') ?? [])
    assert.ok(sent.calls.has(ref.slice(`${start}call/`.length)), ref)
  for (const ref of byKind.get('table') ?? [])
    assert.ok(sent.tables.has(ref.slice(`${start}table/`.length)), ref)

  const named = [...(byKind.get('op') ?? []), ...(byKind.get('object') ?? [])]
  const { vals } = (await read(expected, '/refs/read_batch', { refs: named })) as { vals: unknown[] }
  const rows = new Map(
    [...sent.tables.values()].flatMap((table) => table.rowDigests.map((d, i) => [d, table.rows[i]])),
  )
  for (const [i, ref] of named.entries()) {
    const [, row] = ref.split('/attr/rows/id/')
    assert.deepEqual(vals[i], row === undefined ? values.get(ref) : rows.get(row), ref)
  }
}

function valuesOf({ calls, objects, tables, feedback }: Sent): unknown[] {
  return [calls, objects, tables, feedback].flatMap((things: Map<string, unknown>) => [...things.values()])
}
