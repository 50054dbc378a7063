import * as weave from 'weave'

/** The client that is generated from the trace server's description, as exposed by the SDK's client. */
const project_id = process.env.PROJECT as string
const { traceServerApi: api } = await weave.init(project_id)

const { data: health } = await api.health.readRootHealthGet()

const { data: started } = await api.call.callStartCallStartPost({
  start: {
    project_id,
    op_name: 'answer',
    started_at: '2026-03-01T12:00:00.000Z',
    attributes: { app: { version: '1.4' } },
    inputs: { question: 'capital of Chad', seed: 0.1 },
  },
})
await api.call.callEndCallEndPost({
  end: {
    project_id,
    id: started.id,
    ended_at: '2026-03-01T12:00:01.250Z',
    // The generated type allows no other output.
    output: "N'Djamena" as unknown as null,
    summary: {
      usage: { 'tiny-llm': { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, requests: 1 } },
    },
  },
})
await api.call.callUpdateCallUpdatePost({ project_id, call_id: started.id, display_name: 'asked' })
const second = await api.call.callStartCallStartPost({
  start: { project_id, op_name: 'again', started_at: '2026-03-01T13:00:00.000Z', attributes: {}, inputs: {} },
})

const { data: prices } = await api.cost.costCreateCostCreatePost({
  project_id,
  costs: {
    'tiny-llm': {
      prompt_token_cost: 0.001,
      completion_token_cost: 0.002,
      effective_date: '2026-01-01T00:00:00Z',
    },
  },
})
const { data: costs } = await api.cost.costQueryCostQueryPost({
  project_id,
  fields: ['id', 'llm_id', 'prompt_token_cost'],
})
const { data: read } = await api.call.callReadCallReadPost({
  project_id,
  id: started.id,
  include_costs: true,
})
const stream = await api.calls.callsQueryStreamCallsStreamQueryPost(
  { project_id, sort_by: [{ field: 'started_at', direction: 'desc' }], columns: ['id', 'op_name'] },
  { format: 'text' },
)
const { data: stats } = await api.calls.callsQueryStatsCallsQueryStatsPost({
  project_id,
  filter: { op_names: ['again'] },
})

const { data: object } = await api.obj.objCreateObjCreatePost({
  obj: { project_id, object_id: 'settings', val: { temperature: 0.1 } },
})
const { data: objectRead } = await api.obj.objReadObjReadPost({
  project_id,
  object_id: 'settings',
  digest: 'latest',
})
const { data: objects } = await api.objs.objsQueryObjsQueryPost({ project_id, filter: { latest_only: true } })

const { data: table } = await api.table.tableCreateTableCreatePost({
  table: { project_id, rows: [{ x: 1 }, { x: 2 }] },
})
const { data: updated } = await api.table.tableUpdateTableUpdatePost({
  project_id,
  base_digest: table.digest,
  updates: [{ append: { row: { x: 1 } } }, { pop: { index: 1 } }],
})
const { data: rows } = await api.table.tableQueryTableQueryPost({ project_id, digest: updated.digest })
const { data: rowCount } = await api.table.tableQueryStatsTableQueryStatsPost({
  project_id,
  digest: updated.digest,
})

const objectRef = `weave:///${project_id}/object/settings:${object.digest}`
const { data: values } = await api.refs.refsReadBatchRefsReadBatchPost({
  refs: [`${objectRef}/key/temperature`, objectRef],
})

const bytes = new Uint8Array([0, 1, 254, 255, 13, 10])
const { data: file } = await api.file.fileCreateFileCreatePost({
  project_id,
  file: new File([bytes], 'bytes'),
})
const content = await api.file.fileContentFileContentPost(
  { project_id, digest: file.digest },
  { format: 'arrayBuffer' },
)

const weave_ref = `weave:///${project_id}/call/${started.id}`
const { data: note } = await api.feedback.feedbackCreateFeedbackCreatePost({
  project_id,
  weave_ref,
  creator: 'a reader',
  feedback_type: 'wandb.note.1',
  payload: { note: 'good – 👍' },
})
const { data: reaction } = await api.feedback.feedbackCreateFeedbackCreatePost({
  project_id,
  weave_ref,
  feedback_type: 'wandb.reaction.1',
  payload: { emoji: '👍🏽' },
})
const { data: custom } = await api.feedback.feedbackCreateFeedbackCreatePost({
  project_id,
  weave_ref,
  feedback_type: 'rating',
  payload: { stars: 4.5 },
})
const { data: replaced } = await api.feedback.feedbackReplaceFeedbackReplacePost({
  project_id,
  weave_ref,
  feedback_type: 'rating',
  payload: { stars: 5 },
  feedback_id: custom.id,
})
await api.feedback.feedbackPurgeFeedbackPurgePost({
  project_id,
  query: { $expr: { $eq: [{ $getField: 'id' }, { $literal: reaction.id }] } },
})
const { data: feedback } = await api.feedback.feedbackQueryFeedbackQueryPost({
  project_id,
  sort_by: [{ field: 'created_at', direction: 'asc' }],
  query: { $expr: { $eq: [{ $getField: 'weave_ref' }, { $literal: weave_ref }] } },
})

const done = {
  health,
  started,
  secondId: second.data.id,
  prices,
  costs,
  read,
  stream: stream.data as unknown as string,
  stats,
  object,
  objectRead,
  objects,
  table,
  updated,
  rows,
  rowCount,
  values,
  file,
  content: [...new Uint8Array(content.data as ArrayBuffer)],
  note,
  reaction,
  custom,
  replaced,
  feedback,
}
export type Done = typeof done
console.log(JSON.stringify(done))
