import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TestApp } from './app.ts'
import { basic } from './app.ts'
import { completeOf } from './calls.ts'
import { fileForm, sendForm } from './forms.ts'

/** The names of one thing of each kind. */
export type Things = {
  project: string
  call: string
  trace: string
  object: string
  digest: string
  alias: string
  tag: string
  spec: string
  table: string
  row: string
  file: string
  feedback: string
  queue: string
  rule: string
  item: string
  price: string
  monitor: string
  alertRule: string
  alertEndpoint: string
}

/** Included in every value, so that any leak of a value shows it. */
export const secret = 'nobody else may read this'

/** Stores one thing of each kind that the record has. */
export async function storeOneOfEach(opened: TestApp, project: string, key: string): Promise<Things> {
  const ask = async (method: 'POST' | 'PUT', url: string, body: Record<string, unknown>) => {
    const answer = await opened.send(method, url, body, key)
    assert.equal(answer.status, 200, `${url}: ${answer.text}`)
    return answer.json
  }
  const post = (url: string, body: Record<string, unknown>) => ask('POST', url, body)
  /** A project may have few of these, and a campaign stores often: those that are there serve. */
  const storedOr = async (name: 'rule' | 'endpoint', body: Record<string, unknown>) => {
    const url = `/alert_${name}s`
    const { json } = await opened.send(
      'GET',
      `${url}?project_id=${encodeURIComponent(project)}`,
      undefined,
      key,
    )
    return json[`${name}s`][0] ?? (await post(url, { project_id: project, name: secret, ...body }))[name]
  }
  const call = completeOf({ project_id: project, trace_id: randomUUID(), inputs: { secret }, output: secret })
  await post(`/v2/${project}/calls/complete`, { batch: [call] })
  const [object, alias, tag, spec] = ['private', 'favourite', 'checked', 'spectrum']
  const { digest } = await post('/obj/create', {
    obj: { project_id: project, object_id: object, val: { secret, of: 'object' } },
  })
  await ask('PUT', `/objs/${object}/aliases`, { project_id: project, digest, aliases: [alias] })
  await ask('PUT', `/objs/${object}/versions/${digest}/tags`, { project_id: project, tags: [tag] })
  await post('/obj/create', {
    obj: {
      project_id: project,
      object_id: spec,
      val: { name: spec, field_schema: { type: 'number' } },
      builtin_object_class: 'AnnotationSpec',
    },
  })
  const table = await post('/table/create', { table: { project_id: project, rows: [{ secret }] } })
  const file = await sendForm(opened, fileForm(project, secret), { authorization: basic(key) })
  assert.equal(file.status, 200, file.text)
  const feedback = await post('/feedback/create', {
    project_id: project,
    svc_ref: `weave:///${project}/call/${call.id}`,
    feedback_type: 'thumbs',
    payload: { secret },
  })
  const queue = await post('/annotation_queues', { project_id: project, name: secret, scorer_refs: [] })
  await post(`/annotation_queues/${queue.id}/items`, { project_id: project, call_ids: [call.id] })
  const { items } = await post(`/annotation_queues/${queue.id}/items/query`, { project_id: project })
  const rule = await post(`/annotation_queues/${queue.id}/rules`, {
    project_id: project,
    pick: { kind: 'errors' },
    filter: { op_names: [secret] },
  })
  const { scorer } = await post(`/v2/${project}/scorers`, {
    name: 'scorer',
    description: secret,
    check: { kind: 'length', max: 1 },
  })
  const { monitor } = await post('/monitors', { project_id: project, name: secret, scorers: [{ scorer }] })
  const alertRule = await storedOr('rule', { on: 'call' })
  const url = `https://hooks.example.com/${secret}`
  const alertEndpoint = await storedOr('endpoint', { url, types: ['test'] })
  const price = await post('/cost/create', {
    project_id: project,
    costs: { [secret]: { prompt_token_cost: 1, completion_token_cost: 1 } },
  })
  return {
    project,
    call: call.id,
    trace: call.trace_id,
    object,
    digest,
    alias,
    tag,
    spec,
    table: table.digest,
    row: table.row_digests[0],
    file: file.json.digest,
    feedback: feedback.id,
    queue: queue.id,
    rule: rule.id,
    item: items[0].id,
    price: price.ids[0][0],
    monitor: monitor.id,
    alertRule: alertRule.id,
    alertEndpoint: alertEndpoint.id,
  }
}
