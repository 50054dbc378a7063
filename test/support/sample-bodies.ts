import { CompletionBody } from '../../src/operations/completions/contract.ts'
import { refusedDecisionFields } from '../../src/operations/decisions/contract.ts'
import { refusedChatFields } from '../../src/operations/generation/refused-fields.ts'
import {
  unusedAnthropicFields,
  unusedOpenAiFields,
  unusedVllmFields,
} from '../../src/operations/generation/unused-fields.ts'
import * as ollama from '../../src/operations/ollama/contract.ts'
import { refusedRerankFields, ScoreBody } from '../../src/operations/rerank/contract.ts'
import { ResponsesBody } from '../../src/operations/responses/contract.ts'
import { InputItem } from '../../src/operations/responses/items-contract.ts'
import { keys, type Method } from './app.ts'
import { completeOf, endOf, startOf } from './calls.ts'
import { exportOf } from './otlp.ts'
import { pricesOf } from './prices.ts'

const ids = { id: '01234567-89ab-7def-8123-456789abcdef', trace_id: '0'.repeat(32) }

const start = (project_id: string) => ({
  ...startOf(),
  ...ids,
  project_id,
  parent_id: '0123456789abcdef',
  ...{ display_name: 'name', thread_id: 'thread', turn_id: 'turn', svc_run_id: 'run', svc_run_step: 1 },
  ...{ svc_user_id: null, otel_dump: { name: 'span' } },
  expire_at: '2200-01-01T00:00:00Z',
})

const end = (project_id: string) => ({
  ...endOf(ids.id),
  project_id,
  trace_id: ids.trace_id,
  started_at: '2026-01-02T03:04:05Z',
  display_name: 'name',
  exception: 'Error',
  svc_run_step_end: 2,
})

const filter = {
  op_names: ['answer'],
  input_refs: ['weave:///acme/qa/object/x:y'],
  output_refs: ['weave:///acme/qa/object/x:y'],
  parent_ids: ['0123456789abcdef'],
  trace_ids: [ids.trace_id],
  call_ids: [ids.id],
  thread_ids: ['thread'],
  turn_ids: ['turn'],
  trace_roots_only: false,
  svc_user_ids: ['alice'],
  svc_run_ids: ['run'],
}

const byId = { $expr: { $eq: [{ $getField: 'id' }, { $literal: 'x' }] } }

const alertRule = {
  filter,
  query: byId,
  window: {
    measure: 'latency_p95_ms',
    scorer: null,
    path: null,
    seconds: 3600,
    above: 1000,
    below: null,
    min_count: 10,
  },
  score: null,
  decision: null,
  queue: null,
  budget: null,
  severity: 'warning',
  cooldown_seconds: 60,
  endpoint_ids: ['endpoint'],
  active: true,
}

const alertEndpoint = {
  name: 'ops',
  url: 'https://events.eu.pagerduty.com/v2/enqueue',
  routing_key: 'R0123456789',
  types: ['alert.fired'],
}

const callsQuery = (project_id: string) => ({
  project_id,
  filter,
  query: byId,
  sort_by: [{ field: 'started_at', direction: 'desc' }],
  limit: 10,
  offset: 1,
  columns: ['id'],
  include_costs: true,
  include_feedback: true,
  include_storage_size: true,
  include_total_storage_size: true,
  include_usernames: true,
  latest_only: true,
  expand_columns: [],
  return_expanded_column_values: true,
})

const statsRange = {
  // Without an end, the range ends now.
  start: new Date(Date.now() - 3_600_000).toISOString(),
  end: new Date().toISOString(),
  granularity: 3600,
  timezone: 'Europe/Berlin',
}

const byRow = { $expr: { $eq: [{ $getField: 'row_digest' }, { $literal: 'x' }] } }

const queue = {
  name: 'Hard questions',
  description: 'What the model got wrong',
  scorer_refs: ['weave:///acme/qa/object/tone:abc'],
  annotators: 2,
  reviewers: ['alice', 'bob'],
  blind: true,
  adjudication: 'on_disagreement',
  adjudicators: ['carol'],
  tolerance: { tone: 1 },
}

/** A free kind, because every other kind forbids some reference; without any references it may lose each field. */
const feedback = (project_id: string) => ({
  project_id,
  svc_ref: 'weave:///acme/qa/call/0123456789abcdef',
  feedback_type: 'thumbs',
  payload: { up: true },
  creator: 'Alice',
  ...{ id: null, annotation_ref: null, runnable_ref: null, call_ref: null },
  ...{ trigger_ref: null, queue_id: null, svc_user_id: null },
  ...{ scorer_tags: ['late'], scorer_tag_reasons: { late: 'x' }, scorer_tag_confidences: { late: 0.5 } },
  ...{ scorer_ratings: { tone: 1 }, scorer_rating_reasons: { tone: 'x' }, scorer_trace_id: 't' },
  ...{ scorer_rating_confidences: { tone: 0.5 }, span_agent_name: 'a', span_agent_version: '1' },
  ...{ span_status_code: 'OK', span_conversation_id: 'c', span_trace_id: 't' },
})

const measure = () => ({
  ...{ alias: 'timed', aggregation: 'count', value_type: 'number', filter: null },
  value: { source: 'field', key: 'duration_ms' },
})
const signals = () => ({ tags: ['late'], ratings: [{ scorer_key: 'tone', op: 'gte', value: 0.5 }] })

/** The values are chosen such that each field may be missing, except for those in `needed`. */
/** Fields that are accepted only if they ask for nothing. */
const nothing = (fields: object): Record<string, null> =>
  Object.fromEntries(Object.keys(fields).map((name) => [name, null]))

const lookUp = () => ({ name: 'look_up', arguments: '{"a":1}', parsed_arguments: null })

const chat = () => ({
  prompt: null,
  ...nothing({ ...refusedChatFields, ...unusedOpenAiFields, ...unusedVllmFields }),
  ...{ verbosity: 'low', session_id: 'mine', stream_interval: 2, return_prompt_text: true },
  messages: [
    {
      role: 'assistant',
      content: 'Hello',
      name: 'name',
      tool_calls: [{ id: 'call', type: 'function', function: lookUp(), index: 0 }],
      tool_call_id: 'call',
      ...{ reasoning: 'why', reasoning_content: 'why', refusal: null },
      ...{ function_call: lookUp(), annotations: [], parsed: null, prefix: false },
    },
  ],
  chat_template: '{{ messages[0].content }}',
  ...{ frequency_penalty: 0.5, presence_penalty: 0.5, repetition_penalty: 1.5, temperature: 0.5 },
  ...{ top_p: 0.5, top_k: 5, min_p: 0.5, seed: 5, n: 2, use_beam_search: false, length_penalty: 1.5 },
  ...{ max_tokens: 5, max_completion_tokens: 6, min_tokens: 1, stop: ['end'], stop_token_ids: [7] },
  ...{ ignore_eos: true, include_stop_str_in_output: true, skip_special_tokens: false },
  ...{ spaces_between_special_tokens: false, truncate_prompt_tokens: 100, truncation_side: 'left' },
  ...{ logprobs: true, top_logprobs: 1, logprob_token_ids: [7], prompt_logprobs: 0 },
  ...{ return_token_ids: true, return_tokens_as_token_ids: true, parallel_tool_calls: true },
  ...{
    model: 'scripted',
    add_generation_prompt: true,
    continue_final_message: false,
    echo: true,
    add_special_tokens: true,
  },
  ...{ reasoning_effort: 'low', include_reasoning: true, thinking_token_budget: null },
  ...{ cache_salt: 'salt', priority: 0, stream: true, request_id: 'mine' },
  ...{ logit_bias: { '5': 1 }, allowed_token_ids: [5, 6], bad_words: ['bad'] },
  ...{ tool_choice: 'none', functions: null, function_call: null },
  ...{ chat_template_kwargs: { enable_thinking: false }, documents: [{ title: 'a', text: 'b' }] },
  ...{ user: 'me', store: true, metadata: { a: 'b' } },
  repetition_detection: { max_pattern_size: 4, min_pattern_size: 0, min_count: 2 },
  prediction: { type: 'content', content: 'Hello' },
  stream_options: { include_usage: true, continuous_usage_stats: true },
  tools: [
    {
      type: 'function',
      function: { name: 'look_up', description: 'Finds', parameters: { type: 'object' }, strict: true },
    },
  ],
  response_format: {
    type: 'text',
    json_schema: { name: 'x', description: 'y', schema: { type: 'object' }, strict: true },
    schema: { type: 'object' },
    structures: [],
    triggers: [],
    format: { type: 'any_text' },
  },
  structured_outputs: null,
  service_tier: 'auto',
  kv_transfer_params: { a: 1 },
  mm_processor_kwargs: { a: 1 },
  engine_xargs: { a: 1 },
  vllm_xargs: { a: 1 },
})

const {
  messages,
  model,
  add_generation_prompt,
  continue_final_message,
  chat_template,
  chat_template_kwargs,
  documents,
  reasoning_effort,
  verbosity,
  tools,
} = chat()

const cacheControl = { type: 'ephemeral' }

const source = () => ({ type: 'base64', media_type: 'image/png', data: 'AAAA', url: null })

const counted = () => ({
  ...nothing({ ...unusedAnthropicFields, mcp_servers: null, compaction: null }),
  model: 'scripted',
  messages: [
    {
      role: 'assistant',
      content: [
        {
          // Nothing is read from a block of this type.
          type: 'redacted_thinking',
          text: 'Hello',
          cache_control: cacheControl,
          id: 'call',
          name: 'look_up',
          input: { a: 1 },
          caller: { type: 'direct' },
          tool_use_id: 'call',
          content: [{ type: 'text', text: 'found', source: source(), cache_control: cacheControl }],
          source: source(),
          is_error: true,
          thinking: 'why',
          signature: 'x',
          data: 'x',
        },
      ],
    },
  ],
  system: [{ type: 'text', text: 'Be short.', cache_control: cacheControl }],
  tools: [
    {
      type: 'custom',
      name: 'look_up',
      description: 'Looks up.',
      input_schema: { type: 'object' },
      strict: false,
      cache_control: cacheControl,
    },
  ],
  tool_choice: { type: 'auto', name: 'look_up', disable_parallel_tool_use: true },
  thinking: { type: 'adaptive', budget_tokens: 5, display: 'omitted' },
  output_config: { effort: 'low', format: { type: 'json_schema', schema: {} } },
  output_format: { type: 'json_schema', schema: {} },
  cache_control: cacheControl,
})

/** What a block or a tool of its type needs. */
const noTools = { tools: [], tool_choice: null }
const ofMessages = {
  'system.0.text': { system: 'Be short.' },
  'tools.0.name': noTools,
  'tools.0.input_schema': noTools,
  tools: { tool_choice: null },
}

const ofOllama = ({ shape }: { shape: object }) => ({
  ...nothing(shape),
  options: nothing(ollama.Options.shape),
  ...('stream' in shape && { stream: false }),
})
const ollamaCall = { id: 'a', type: 'function', function: { index: 0, name: 'look_up', arguments: {} } }

const scored = () => ({ ...nothing(ScoreBody.shape), request_id: 'a', queries: 'a', documents: ['a'] })

const message = () => ({
  ...counted(),
  ...{ prompt: null, store: true, max_tokens: 5, stream: true, stop_sequences: ['end'], temperature: 0.5 },
  ...{ top_p: 0.5, top_k: 5, metadata: { user_id: 'user' }, service_tier: 'auto', speed: 'standard' },
  ...{
    inference_geo: 'us',
    context_management: { edits: [] },
    container: null,
    mcp_servers: [],
    thread: null,
  },
})

const tokenize = () => ({
  messages,
  model,
  prompt: null,
  add_special_tokens: true,
  return_token_strs: false,
  add_generation_prompt,
  continue_final_message,
  chat_template,
  chat_template_kwargs,
  documents,
  reasoning_effort,
  verbosity,
  tools,
})

const completion = () => {
  const { messages: _, ...all } = chat()
  const names = Object.keys(CompletionBody.shape)
  return {
    ...Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name))),
    prompt: 'Once upon',
    suffix: null,
    best_of: null,
    logprobs: 1,
  }
}

const pooling = () => ({
  ...{ model: 'scripted', truncate_prompt_tokens: 100, priority: 0, user: 'me' },
  ...{ request_id: 'mine', store: true, metadata: { run: '7' } },
})

const embeddings = () => ({
  ...pooling(),
  ...{ input: ['a cab', 'bad'], encoding_format: 'float', dimensions: 2, add_special_tokens: true },
  ...{ truncation_side: 'left', messages: null, normalize: true },
  ...{ embed_dtype: 'float32', endianness: 'little', output_dimension: 2, output_dtype: 'float' },
})

const infilling = () => ({
  ...{ model: 'scripted', input_prefix: 'a', input_suffix: 'b', prompt: '  ', n_predict: 3 },
  input_extra: [{ filename: 'a.ts', text: 'a' }],
  ...{ temperature: 0, top_k: 40, top_p: 0.9, min_p: 0.1, seed: 7, stop: ['x'], ignore_eos: false },
  ...{ repeat_penalty: 1.1, presence_penalty: 0, frequency_penalty: 0, stream: false },
  ...{ response_fields: ['content', 'timings/prompt_n'], cache_prompt: true },
  ...{ n_indent: 4, n_keep: 0, n_cache_reuse: 0, repeat_last_n: 64, samplers: ['top_k'], id_slot: 0 },
  ...{ t_max_prompt_ms: 500, t_max_predict_ms: 1_000 },
  ...{ store: false, session_id: 'a', metadata: { run: '7' } },
})

const cohereEmbed = () => ({
  ...pooling(),
  ...{ texts: ['a cab', 'bad'], inputs: null, input_type: 'search_query', max_tokens: 8, truncate: 'END' },
  ...{ embedding_types: ['float', 'base64', 'binary', 'ubinary'], output_dimension: 2 },
  ...{ images: null, truncate_prompt_tokens: null },
})

const ranking = () => ({
  ...pooling(),
  query: 'a cab',
  documents: ['bad', { text: 'a cat' }],
  top_n: 2,
  return_documents: true,
  ...nothing(refusedRerankFields),
})

const decided = () => {
  const { truncate_prompt_tokens: _, user, ...shared } = pooling()
  const own = { orders: 2, thinking_token_budget: null, cache_salt: user, stream: false }
  return { ...shared, ...own, ...nothing(refusedDecisionFields) }
}

const decisions = () => ({
  ...{ ...decided(), input: 'Hi', state: null },
  questions: [
    {
      ...{ type: 'predicate', name: 'kind', instructions: 'Is it kind?' },
      ...{ choices: null, levels: null, calibration: null },
    },
    {
      type: 'choice',
      instructions: 'What?',
      choices: [{ value: true, description: 'so' }, { value: 'true' }],
    },
    { type: 'score', instructions: 'How good?', levels: [{ label: 'bad' }, { label: 'good' }] },
  ],
  ...{ min_label_mass: 0.1, safety_identifier: 'me', prompt_cache_key: 'key', prompt_cache_options: null },
})

const systemOne = () => ({
  ...decided(),
  ...{ state: { text: 'Hi' }, input: null, instructions: 'Be strict.', files: null, images: null },
  chat_template_kwargs: { enable_thinking: false },
  questions: { kind: { type: 'noul' }, topic: { type: 'choice', criteria: { '10': null, '2': 'two' } } },
})

const inputTokens = () => ({
  input: 'Hi',
  instructions: 'Be kind.',
  model: 'scripted',
  previous_response_id: null,
  tools: [
    { type: 'custom', name: 'look_up', description: 'Finds', parameters: { type: 'object' }, strict: true },
  ],
  tool_choice: 'none',
  parallel_tool_calls: true,
  text: { format: null, verbosity: 'low' },
  reasoning: { effort: 'low', summary: 'auto', generate_summary: 'auto' },
  truncation: 'disabled',
  conversation: null,
  chat_template,
  chat_template_kwargs,
})

const response = () => {
  const { store: _, ...all } = chat() as Record<string, unknown>
  const names = Object.keys(ResponsesBody.shape)
  return {
    ...Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name))),
    ...inputTokens(),
    store: false,
    request_id: null,
    include: ['message.output_text.logprobs'],
    max_output_tokens: 6,
    top_logprobs: 1,
    stream_options: { include_obfuscation: true },
    background: false,
    prompt: null,
    max_tool_calls: 5,
    thinking_token_budget: null,
    ...{ context_management: null, image: null, access_programs: null, background_options: null },
  }
}

/** A thought, which needs none of its fields; without its type it is a message. */
const inputItem = () => ({ ...nothing(InputItem.shape), type: 'reasoning', role: 'user', content: 'Hello' })

const ofScores = { queries: { text_1: 'a' }, documents: { text_2: 'a' } }

/** What stands in for a field if one of several must be present. */
const ofWindows = { 'window.above': { window: { measure: 'calls', seconds: 60, below: 1 } } }
const ofAlerts = { ...ofWindows, window: { on: 'call' } }

export const instead: Record<string, Record<string, object>> = {
  '/agents/spans/stats': { 'bucket_by.value': { bucket_by: { type: 'time' } } },
  '/agents/spans/query': { group_by: { measures: null, group_filters: null, signal_filters: null } },
  // Until now, which is at most 31 days later.
  '/feedback/aggregate': { before_ms: { after_ms: Date.now() - 3_600_000 } },
  '/alert_rules': ofAlerts,
  '/alert_rules/try': ofAlerts,
  '/alert_rules/:rule_id': ofWindows,
  '/alert_endpoints': { format: { routing_key: null }, routing_key: { format: 'standard' } },
  '/tokenize': { messages: { prompt: 'Hello' } },
  '/v1/responses/input_tokens': {},
  '/api/show': {},
  '/api/pull': {},
  '/annotation_queues': { adjudication: { adjudicators: null }, adjudicators: { adjudication: null } },
  '/annotation_queues/:queue_id/rules': { 'pick.below': { pick: { kind: 'scores', above: 0.5 } } },
  '/v2/:entity/:project/scorers': { op_source_code: { check: { kind: 'latency', max_ms: 5 } } },
  '/v2/:entity/:project/scorers/try': { check: { judge: { prompt: '{output}', schema: {} } } },
  '/v1/messages': ofMessages,
  '/v1/messages/count_tokens': ofMessages,
  '/v1/score': ofScores,
  '/v2/embed': { texts: { inputs: [{ content: [{ type: 'text', text: 'a' }] }] } },
  '/score': ofScores,
  // A budget that allows only models with a price would refuse the other cases.
  '/budgets': { subject: { scope: 'server', block_unpriced: false } },
  '/objs/:object_id/aliases/:alias/move': { digest: { back: true } },
}

const chatFields = {
  stream: ['stream_options'],
  logprobs: ['top_logprobs', 'logprob_token_ids'],
  'repetition_detection.max_pattern_size': ['repetition_detection.min_pattern_size'],
  'repetition_detection.min_count': ['repetition_detection.max_pattern_size'],
}

/** Fields that others need: those must be removed with them. */
const annotated = { 'labels.annotation': ['labels.path', 'labels.positive'] }
export const needed: Record<string, Record<string, string[]>> = {
  '/v2/:entity/:project/calibrations': annotated,
  '/v2/:entity/:project/calibrations/report': annotated,
  '/v2/:entity/:project/calibrations/agreement': annotated,
  '/v1/completions': {
    stream: ['stream_options'],
    logprobs: ['logprob_token_ids'],
    'repetition_detection.max_pattern_size': ['repetition_detection.min_pattern_size'],
    'repetition_detection.min_count': ['repetition_detection.max_pattern_size'],
  },
  '/v1/responses': {
    include: ['top_logprobs'],
    'repetition_detection.max_pattern_size': ['repetition_detection.min_pattern_size'],
    'repetition_detection.min_count': ['repetition_detection.max_pattern_size'],
  },
  '/v1/chat/completions': chatFields,
  '/v1/chat/completions/': chatFields,
}

const monitor = (project_id: string) => ({
  name: 'answers',
  description: 'every second answer',
  scorers: [{ scorer: `weave:///${project_id}/object/short:v0`, fields: { text: 'output' } }],
  filter,
  query: byId,
  models: ['small'],
  statuses: ['success'],
  sampling_rate: 0.5,
  token_budget: 1000,
  active: true,
})

/** Routes with a body for admins: others are refused before the body is read. */
export const adminsOnly: ReadonlySet<string> = new Set([
  ...['/users', '/users/:name/grants', '/users/:name/settings', '/invitations', '/audit/query'],
  ...['/budgets', '/budgets/:id', '/objs/:object_id/aliases/:alias/gate'],
  ...['/projects/:entity/:project/redaction', '/projects/:entity/:project/redaction/try'],
  '/v2/:entity/:project/erasures',
])

const redaction = {
  kinds: ['email', 'card'],
  patterns: [{ name: 'employee', pattern: 'EMP-\\d{4}' }],
  paths: [{ path: 'inputs.**.password', action: 'drop' }],
}

const budgetChange = (project_id: string) => ({
  amount: '12.50',
  warn_at: 0.5,
  block_unpriced: true,
  prices_of: project_id,
})

const exportSample = (signal: string, items: string) => (project: string) => {
  const [entity = '', name = ''] = project.split('/')
  const { resource } = exportOf([], { 'wandb.entity': entity, 'wandb.project': name }).resourceSpans[0]
  const scopes = [{ scope: { name: 'sdk' }, [items]: [], schemaUrl: 'https://example.com' }]
  return {
    [`resource${signal}`]: [{ resource, [`scope${signal}`]: scopes, schemaUrl: 'https://example.com' }],
  }
}
const labels = {
  ...{ annotation: 'right', path: 'value', positive: ['yes'] },
  expected: { evaluation_run_ids: ['x'], column: 'expected', positive: ['yes'] },
  feedback: { type: 'wandb.reaction.1', path: 'detoned', positive: ['yes'] },
}
const calibrated = { scorer: 'exact', question: 'right', digest: null, labels }
const exact = 'weave:///acme/qa/object/exact:v0'
const small = 'weave:///acme/qa/object/small:v0'

/** For each route with a body, a body that it accepts, with every field of its contract. */
export const sampleBodies: Record<string, (project: string) => Record<string, unknown>> = {
  // Before what they are about is deleted.
  '/v2/:entity/:project/erasures': () => ({ subject: { kind: 'end_user', value: 'nobody' }, dry_run: true }),
  '/v2/:entity/:project/calibrations': () => ({ ...calibrated, name: 'x', dry_run: true }),
  '/v2/:entity/:project/calibrations/report': () => calibrated,
  '/v2/:entity/:project/calibrations/agreement': () => ({
    ...{ ...calibrated, calibration: null, threshold: 0.5, precision: 0.9 },
  }),
  '/call/start': (project) => ({ start: start(project) }),
  '/call/end': (project) => ({ end: end(project) }),
  '/call/upsert_batch': (project) => ({
    batch: [
      { mode: 'start', req: { start: start(project) } },
      { mode: 'end', req: { end: end(project) } },
    ],
  }),
  '/v2/:entity/:project/calls/complete': (project) => ({
    batch: [{ ...completeOf(), ...end(project), ...start(project) }],
  }),
  '/v2/:entity/:project/call/start': (project) => ({ start: start(project) }),
  '/v2/:entity/:project/call/end': (project) => ({ end: end(project) }),
  '/ui/session': () => ({ key: keys.alice }),
  '/call/read': (project_id) => ({
    project_id,
    id: ids.id,
    include_costs: true,
    include_storage_size: true,
    include_total_storage_size: true,
  }),
  '/call/update': (project_id) => ({ project_id, call_id: ids.id, display_name: 'name' }),
  '/calls/delete': (project_id) => ({ project_id, call_ids: [ids.id] }),
  '/calls/stream_query': callsQuery,
  '/calls/query': callsQuery,
  '/calls/export': (project_id) => ({
    project_id,
    format: 'jsonl',
    kinds: ['files', 'tables', 'objects', 'calls', 'feedback'],
    filter,
    query: byId,
    after: ids.id,
  }),
  '/calls/query_stats': (project_id) => ({
    project_id,
    filter,
    query: byId,
    limit: 10,
    include_total_storage_size: true,
    expand_columns: [],
  }),
  '/calls/stats': (project_id) => ({
    project_id,
    ...statsRange,
    filter,
    usage_metrics: [{ metric: 'total_cost', aggregations: ['avg'], percentiles: [95] }],
    call_metrics: [{ metric: 'latency_ms', aggregations: ['avg'], percentiles: [95] }],
  }),
  '/calls/usage': (project_id) => ({ project_id, call_ids: [ids.id], include_costs: true, limit: 10 }),
  '/trace/usage': (project_id) => ({ project_id, filter, query: byId, include_costs: true, limit: 10 }),
  '/threads/stream_query': (project_id) => ({
    project_id,
    filter: {
      thread_ids: ['thread'],
      after_datetime: '2026-01-01T00:00:00Z',
      before_datetime: '2026-01-02T00:00:00Z',
    },
    query: byId,
    include_details: true,
    limit: 10,
    offset: 1,
    sort_by: [{ field: 'turn_count', direction: 'desc' }],
  }),
  '/agents/query': (project_id) => ({
    project_id,
    filters: { agent_name: 'weaver' },
    sort_by: [{ field: 'span_count', direction: 'desc' }],
    limit: 10,
    offset: 1,
    include_costs: true,
    include_details: true,
    started_after: '2024-01-01T00:00:00Z',
    started_before: '2030-01-01T00:00:00Z',
  }),
  '/agents/agent-versions/query': (project_id) => ({
    project_id,
    agent_name: 'weaver',
    sort_by: [{ field: 'span_count', direction: 'desc' }],
    limit: 10,
    offset: 1,
    include_costs: true,
    include_details: true,
    started_after: '2024-01-01T00:00:00Z',
    started_before: '2030-01-01T00:00:00Z',
  }),
  '/agents/spans/query': (project_id) => ({
    project_id,
    query: byId,
    group_by: [{ source: 'field', key: 'conversation_id', alias: 'conversation' }],
    sort_by: [{ field: 'span_count', direction: 'desc' }],
    limit: 10,
    offset: 1,
    started_after: '2026-01-01T00:00:00Z',
    started_before: '2026-01-02T00:00:00Z',
    include_details: false,
    include_costs: true,
    measures: [measure()],
    group_filters: [{ group_by: [], measure: measure(), min: 1, max: 5 }],
    group_distributions: [],
    custom_attr_columns: [],
    insight_filters: [],
    signal_filters: signals(),
  }),
  '/agents/spans/stats': (project_id) => ({
    project_id,
    ...statsRange,
    query: byId,
    group_by: [{ source: 'field', key: 'agent_name', alias: 'agent' }],
    metrics: [
      {
        ...{ alias: 'took', value_type: 'number', aggregations: ['avg'], percentiles: [95] },
        value: { source: 'field', key: 'duration_ms' },
      },
    ],
    group_limit: 5,
    bucket_by: {
      ...{ type: 'number', value: { source: 'field', key: 'duration_ms' }, alias: 'took', bins: 5 },
      ...{ min: 0, max: 10, group_by: [], measure: null },
    },
    group_filters: [],
    signal_filters: signals(),
  }),
  '/agents/spans/custom-attrs/schema': (project_id) => ({
    project_id,
    query: byId,
    started_after: '2026-01-01T00:00:00Z',
    started_before: '2026-01-02T00:00:00Z',
    limit: 10,
    offset: 1,
  }),
  '/agents/search': (project_id) => ({
    project_id,
    query: 'warp',
    trace_id: ids.id,
    conversation_id: 'thread',
    agent_name: 'weaver',
    provider_name: 'loomco',
    request_model: 'loom',
    roles: [],
    started_after: '2026-01-01T00:00:00Z',
    started_before: '2026-01-02T00:00:00Z',
    truncate_content: true,
    limit: 10,
    offset: 1,
  }),
  '/agents/traces/chat': (project_id) => ({
    project_id,
    trace_id: ids.trace_id,
    include_feedback: true,
    include_model_tool_calls: true,
  }),
  '/agents/conversations/chat': (project_id) => ({
    project_id,
    conversation_id: 'thread',
    limit: 10,
    offset: 1,
    include_feedback: true,
    include_model_tool_calls: true,
  }),
  '/agents/conversations/spans': (project_id) => ({
    project_id,
    conversation_ids: ['thread'],
    started_after: '2026-01-01T00:00:00Z',
    started_before: '2026-01-02T00:00:00Z',
  }),
  '/views/facets': (project_id) => ({ project_id, filter, query: byId, fields: ['op', 'inputs.question'] }),
  '/views/saved': (project_id) => ({
    project_id,
    screen: 'calls',
    name: 'Slow',
    search: 'q=latency%3A%3E2s',
    is_shared: true,
  }),
  '/views/saved/query': (project_id) => ({ project_id }),
  '/views/saved/:view_id': (project_id) => ({
    project_id,
    name: 'Slow',
    search: 'q=latency%3A%3E2s',
    is_shared: true,
  }),
  '/views/columns': (project_id) => ({ project_id, filter, query: byId, sample: 10 }),
  '/views/search': (project_id) => ({
    project_id,
    filter,
    query: byId,
    text: 'refund',
    limit: 10,
    // The position of a page is sealed for its project.
    after: null,
  }),
  '/views/trace': (project_id) => ({ project_id, trace_id: ids.trace_id, limit: 10, layout: 'columns' }),
  '/views/buckets': (project_id) => ({
    project_id,
    filter,
    query: byId,
    after: '2026-01-01T00:00:00Z',
    before: '2026-01-02T00:00:00Z',
    step_seconds: 86_400,
    by: 'model',
    timed: 'latency',
    costs: true,
  }),
  '/views/feedback_buckets': (project_id) => ({
    ...{ project_id, filter, query: byId, step_seconds: 86_400 },
    ...{ after: '2026-01-01T00:00:00Z', before: '2026-01-02T00:00:00Z' },
  }),
  '/views/calls': (project_id) => ({
    project_id,
    columns: ['inputs.question'],
    filter,
    query: byId,
    sort_by: [{ field: 'started_at', direction: 'desc' }],
    limit: 10,
    offset: 1,
    after: `1767323045000000.${ids.id}`,
    ...{ count_up_to: 100, examine: 1000 },
  }),
  '/cost/create': (project_id) =>
    pricesOf(
      {
        model: {
          cache_read_input_token_cost: 1,
          cache_creation_input_token_cost: 1,
          prompt_token_cost_unit: 'USD',
          completion_token_cost_unit: 'USD',
          effective_date: '2026-01-01T00:00:00Z',
          provider_id: 'x',
        },
      },
      project_id,
    ),
  '/cost/query': (project_id) => ({
    project_id,
    fields: ['id'],
    query: byId,
    sort_by: [{ field: 'created_at', direction: 'desc' }],
    limit: 10,
    offset: 1,
  }),
  '/cost/purge': (project_id) => ({ project_id, query: byId }),
  ...Object.fromEntries(
    ['', '/otel', '/agents/otel'].flatMap((base) => [
      [`${base}/v1/traces`, exportSample('Spans', 'spans')],
      [`${base}/v1/logs`, exportSample('Logs', 'logRecords')],
      [`${base}/v1/metrics`, () => ({ resourceMetrics: [{ scopeMetrics: [] }] })],
    ]),
  ),
  '/feedback/create': feedback,
  '/feedback/batch/create': (project) => ({ batch: [feedback(project)] }),
  '/feedback/query': (project_id) => ({
    project_id,
    fields: ['id', 'payload.up'],
    query: byId,
    sort_by: [{ field: 'created_at', direction: 'desc' }],
    limit: 10,
    offset: 1,
  }),
  '/feedback/stats': (project_id) => ({
    project_id,
    ...statsRange,
    feedback_type: 'thumbs',
    trigger_ref: 'weave:///acme/qa/object/monitor:*',
    metrics: [{ json_path: 'up', value_type: 'boolean', aggregations: ['count'], percentiles: [50] }],
  }),
  '/feedback/aggregate': (project_id) => ({
    project_id,
    after_ms: 1767225600000,
    before_ms: 1767312000000,
    time_bucket_seconds: 3600,
    feedback_types: ['wandb.runnable'],
    tags: ['late'],
    rating_min: 0.1,
    rating_max: 0.9,
    monitor_ids: ['weave:///acme/qa/object/monitor:*'],
    scorer_ids: ['weave:///acme/qa/object/scorer:*'],
    span_agent_names: ['weaver'],
    span_prompt_ids: ['support'],
    span_types: ['agent_turn'],
    group_by: ['span_agent_name'],
  }),
  '/feedback/payload_schema': (project_id) => ({
    project_id,
    start: statsRange.start,
    end: statsRange.end,
    feedback_type: 'thumbs',
    trigger_ref: 'weave:///acme/qa/object/monitor:*',
    sample_limit: 10,
  }),
  '/feedback/purge': (project_id) => ({ project_id, query: byId }),
  '/feedback/replace': (project) => ({ ...feedback(project), feedback_id: 'old' }),
  '/annotation_queues': (project_id) => ({ project_id, ...queue }),
  '/annotation_queues/:queue_id': (project_id) => ({ project_id, ...queue }),
  '/annotation_queues/query': (project_id) => ({
    project_id,
    name: 'hard',
    sort_by: [{ field: 'created_at', direction: 'desc' }],
    limit: 10,
    offset: 1,
  }),
  '/annotation_queues/:queue_id/preferences': (project_id) => ({ project_id, by: 'op' }),
  '/annotation_queues/:queue_id/items': (project_id) => ({
    project_id,
    call_ids: [ids.id],
    pairs: [{ call_ids: [ids.id, ids.trace_id] }],
    display_fields: ['inputs.question'],
  }),
  '/annotation_queues/:queue_id/items/query': (project_id) => ({
    project_id,
    filter: {
      id: 'item',
      call_id: ids.id,
      call_op_name: 'answer',
      call_trace_id: ids.trace_id,
      added_by: 'alice',
      rule_id: 'rule',
      annotation_states: ['unstarted'],
      own_annotation_states: ['unstarted'],
      outcomes: ['open'],
    },
    sort_by: [{ field: 'created_at', direction: 'desc' }],
    limit: 10,
    offset: 1,
    include_position: true,
  }),
  '/annotation_queues/:queue_id/items/:item_id/progress': (project_id) => ({
    project_id,
    annotation_state: 'completed',
    annotator_user_id: null,
    svc_user_id: null,
  }),
  '/annotation_queues/:queue_id/rules': (project_id) => ({
    project_id,
    pick: { kind: 'every_nth', n: 3 },
    filter: { op_names: ['answer'], models: ['scripted'] },
    display_fields: ['inputs.question'],
    paused: false,
  }),
  '/annotation_queues/:queue_id/rules/:rule_id': (project_id) => ({
    project_id,
    paused: true,
    pick: null,
    filter: null,
    display_fields: null,
  }),
  '/users': () => ({
    ...{ name: 'nobody', role: 'member', entities: ['acme'], grants: [{ scope: 'acme', role: 'viewer' }] },
  }),
  '/keys': () => ({
    ...{ user: 'alice', name: 'laptop', record: 'off', scopes: ['read'], expires_at: '2200-01-01T00:00:00Z' },
  }),
  '/keys/:id/rotate': () => ({ overlap_seconds: 60, expires_at: '2200-01-01T00:00:00Z' }),
  '/users/:name/grants': (scope) => ({ grants: [{ scope, role: 'viewer' }] }),
  '/users/:name/settings': (default_project) => ({
    ...{ requests_per_minute: 60, tokens_per_minute: 9_000, requests_at_once: 2, disabled: null },
    ...{ default_project, models: ['builtin'] },
  }),
  '/invitations': (scope) => ({ grants: [{ scope, role: 'viewer' }], note: 'for a friend', days: 1 }),
  '/invitations/accept': () => ({ secret: 'no such secret', name: 'nobody' }),
  '/audit/query': () => ({
    actor: 'alice',
    action: 'key.add',
    from: '2026-01-01T00:00:00Z',
    until: '2200-01-01T00:00:00Z',
    before: 'x',
    limit: 10,
  }),
  '/budgets': (project_id) => ({
    ...{ scope: 'project', subject: 'elsewhere/nothing', window: 'day', currency: 'USD' },
    ...budgetChange(project_id),
  }),
  '/budgets/:id': budgetChange,
  '/annotation_queues/:queue_id/next': (project_id) => ({
    project_id,
    lease_seconds: 60,
    annotators: 2,
    except_item_ids: ['item'],
  }),
  '/annotation_queues/:queue_id/items/:item_id/release': (project_id) => ({ project_id }),
  '/annotation_queues/:queue_id/items/:item_id/reopen': (project_id) => ({ project_id }),
  '/alert_rules': (project_id) => ({ project_id, name: 'slow', on: 'window', ...alertRule }),
  '/alert_rules/try': (project_id) => ({ project_id, on: 'window', ...alertRule }),
  '/alert_rules/:rule_id': (project_id) => ({ project_id, name: 'slow', ...alertRule }),
  '/alert_endpoints': (project_id) => ({ project_id, ...alertEndpoint, format: 'pagerduty' }),
  '/alert_endpoints/:endpoint_id': (project_id) => ({ project_id, ...alertEndpoint, active: true }),
  '/alert_endpoints/:endpoint_id/rotate': (project_id) => ({ project_id, overlap_hours: 1 }),
  '/alert_endpoints/:endpoint_id/test': (project_id) => ({ project_id }),
  '/alert_endpoints/:endpoint_id/replay': (project_id) => ({
    project_id,
    event_ids: ['event'],
    after: '2026-01-01T00:00:00Z',
    before: '2026-01-02T00:00:00Z',
  }),
  '/alert_events/query': (project_id) => ({
    project_id,
    rule_id: 'rule',
    endpoint_id: 'endpoint',
    type: 'alert.fired',
    state: 'sent',
    before: 'event',
    limit: 10,
  }),
  '/monitors': (project_id) => ({ project_id, ...monitor(project_id) }),
  '/monitors/:monitor_id': (project_id) => ({ project_id, ...monitor(project_id) }),
  '/monitors/query': (project_id) => ({
    project_id,
    name: 'answers',
    sort_by: [{ field: 'created_at', direction: 'desc' }],
    limit: 10,
    offset: 1,
  }),
  '/monitors/stats': (project_id) => ({
    project_id,
    monitor_ids: ['monitor'],
    after: '2026-01-01T00:00:00Z',
    before: '2026-01-02T00:00:00Z',
  }),
  '/monitors/:monitor_id/run': (project_id) => ({
    project_id,
    filter,
    query: byId,
    models: ['small'],
    statuses: ['success'],
    sampling_rate: 0.5,
    limit: 10,
  }),
  '/monitors/:monitor_id/runs/:run_id/cancel': (project_id) => ({ project_id }),
  '/obj/create': (project_id) => ({
    obj: {
      project_id,
      object_id: 'name',
      val: { a: 1 },
      builtin_object_class: null,
      expected_digest: null,
      expected_latest: null,
    },
  }),
  '/obj/read': (project_id) => ({
    project_id,
    object_id: 'name',
    digest: 'latest',
    metadata_only: true,
    include_tags_and_aliases: true,
  }),
  '/objs/query': (project_id) => ({
    project_id,
    filter: {
      object_ids: ['name'],
      base_object_classes: ['Model'],
      exclude_base_object_classes: ['Dataset'],
      leaf_object_classes: ['Answerer'],
      is_op: false,
      latest_only: true,
      tags: ['good'],
      aliases: ['best'],
    },
    limit: 10,
    offset: 1,
    sort_by: [{ field: 'created_at', direction: 'desc' }],
    metadata_only: true,
    include_storage_size: true,
    include_tags_and_aliases: true,
  }),
  '/obj/delete': (project_id) => ({ project_id, object_id: 'name', digests: ['latest'] }),
  '/objs/:object_id/versions/:digest/tags': (project_id) => ({ project_id, tags: ['good'] }),
  '/objs/:object_id/versions/:digest/tags/remove': (project_id) => ({ project_id, tags: ['good'] }),
  '/objs/:object_id/aliases': (project_id) => ({ project_id, digest: 'v0', aliases: ['best'] }),
  '/objs/:object_id/aliases/remove': (project_id) => ({ project_id, aliases: ['best'] }),
  '/objs/:object_id/aliases/:alias/gate': (project_id) => {
    const conditions = [{ field: 'scores.exact', min_rate: 0.5 }]
    const evaluation = `weave:///${project_id}/object/x:v0`
    return { project_id, gate: { evaluation, conditions, min_rows: 1, max_age_days: 1 } }
  },
  '/objs/:object_id/aliases/:alias/move': (project_id) => ({
    ...{ project_id, digest: 'v0', back: false, expected_digest: 'x', run: 'run', baseline_run: 'run' },
    ...{ override: null, share: null, expected_share: null },
  }),
  '/objs/:object_id/aliases/:alias/shadow': (project_id) => {
    const scorer = `weave:///${project_id}/object/x:v0`
    return { project_id, shadow: { version: 'v0', share: 0.5, scorer, field: 'passed', min_pairs: 20 } }
  },
  '/objs/:object_id/proposals': (project_id) => ({
    ...{ project_id, run: 'nowhere', scores: [{ field: 'scores.exact', below: 0.5, above: null }] },
    ...{ model: 'scripted', proposals: 1, max_rows: 2, instructions: 'Be brief.' },
  }),
  '/refs/read_batch': (project) => ({ refs: [`weave:///${project}/object/name:latest`] }),
  '/table/create': (project_id) => ({ table: { project_id, rows: [{ x: 1 }], expected_digest: null } }),
  '/table/update': (project_id) => ({
    project_id,
    base_digest: 'x',
    updates: [{ append: { row: { x: 1 } } }, { pop: { index: 0 } }, { insert: { index: 0, row: { x: 1 } } }],
  }),
  '/table/create_from_digests': (project_id) => ({ project_id, row_digests: [], expected_digest: null }),
  '/table/query': (project_id) => ({
    project_id,
    digest: 'x',
    filter: { row_digests: ['x'] },
    limit: 10,
    offset: 1,
    sort_by: [{ field: 'a.b', direction: 'desc' }],
  }),
  '/table/query_stats': (project_id) => ({ project_id, digest: 'x' }),
  '/table/query_stats_batch': (project_id) => ({
    project_id,
    digests: ['x'],
    include_storage_size: true,
  }),
  '/file/content': (project_id) => ({ project_id, digest: 'x' }),
  '/files/content': (project_id) => ({ project_id, digest: 'x' }),
  '/files/query_stats': (project_id) => ({ project_id }),
  '/v2/:entity/:project/ops': () => ({ name: 'answer', source_code: 'def answer(): ...' }),
  '/v2/:entity/:project/datasets': () => ({ name: 'capitals', description: 'few', rows: [{ x: 1 }] }),
  '/v2/:entity/:project/scorers': () => ({
    name: 'exact',
    description: '=',
    op_source_code: 'def score(): ...',
    judge: null,
    check: null,
    fields: null,
    direction: 'lower',
  }),
  '/v2/:entity/:project/evaluations': () => ({
    name: 'first',
    description: 'try',
    dataset: 'weave:///acme/qa/object/capitals:v0',
    scorers: [exact],
    trials: 1,
    evaluation_name: 'run',
    eval_attributes: { a: 1 },
  }),
  '/v2/:entity/:project/models': () => ({
    name: 'small',
    description: 'quick',
    source_code: 'class Small: ...',
    attributes: { a: 1 },
  }),
  '/v2/:entity/:project/eval_results/query': () => ({
    evaluation_call_ids: [ids.id],
    evaluation_run_ids: [ids.id],
    filters: [{ query: byRow, evaluation_call_id: ids.id }],
    filter_logic_operator: 'or',
    include_costs: false,
    include_predict_and_score_children: true,
    include_raw_data_rows: true,
    include_rows: true,
    include_summary: true,
    limit: 10,
    offset: 1,
    require_intersection: true,
    resolve_row_refs: true,
    sort_by: [{ field: 'scores.x', direction: 'desc', evaluation_call_id: ids.id, mode: 'value' }],
    summary_require_intersection: false,
  }),
  '/v2/:entity/:project/evaluation_runs': () => ({
    ...{ evaluation: 'weave:///acme/qa/object/first:v0', model: small, id: null },
  }),
  '/v2/:entity/:project/evaluation_runs/:evaluation_run_id/finish': () => ({ summary: { note: 'x' } }),
  '/v2/:entity/:project/scorers/try': () => ({
    judge: null,
    check: { kind: 'length', min: 1, max: 3, field: 'output' },
    fields: { text: 'output' },
    call_ids: [ids.id],
  }),
  '/v2/:entity/:project/evaluation_runs/serve': (project_id) => ({
    name: 'cities',
    dataset: `weave:///${project_id}/object/nowhere:v0`,
    split: { column: 'split', value: 'test' },
    prompt: 'Name it: {question}',
    settings: [{ name: 'cold', system: 'Be brief.', request: { stop: 'end' } }],
    scorers: [{ scorer: `weave:///${project_id}/object/exact:v0`, fields: { answer: 'output' } }],
    ...{ repeats: 2, concurrency: 2 },
  }),
  '/v2/:entity/:project/predictions': () => ({
    ...{ model: small, inputs: { question: 'capital of Chad' }, output: "N'Djamena" },
    ...{ evaluation_run_id: 'nowhere', id: null },
  }),
  '/v2/:entity/:project/scores': () => ({
    ...{ prediction_id: 'nowhere', scorer: exact, value: 0.5, evaluation_run_id: 'nowhere', id: null },
  }),
  '/views/evaluations': (project_id) => ({ project_id, limit: 10, offset: 1 }),
  '/views/scores': (project_id) => ({
    project_id,
    evaluation_call_ids: [ids.id],
    filters: [{ query: byRow, evaluation_call_id: ids.id }],
    require_intersection: true,
    field: 'scores.x',
    baseline: ids.id,
    heat_for: ids.id,
    bins: 20,
    heat_bins: 20,
  }),
  '/views/rank': (project_id) => ({
    project_id,
    evaluation_call_ids: [ids.id],
    filters: [{ query: byRow, evaluation_call_id: ids.id }],
    require_intersection: true,
    row_digest: 'abc',
    sort_by: [{ field: 'scores.x', direction: 'desc', evaluation_call_id: ids.id, mode: 'value' }],
    neighbours: 1,
  }),
  '/evaluations/status': (project_id) => ({ project_id, call_id: ids.id }),
  '/evaluations/rescore': (project_id) => ({
    ...{ project_id, source_evaluation_run_id: ids.id },
    scorer_refs: [`weave:///${project_id}/object/exact:v0`],
  }),
  '/evaluations/evaluate_model': (project_id) => ({
    project_id,
    evaluation_ref: `weave:///${project_id}/object/nowhere:v0`,
    model_ref: `weave:///${project_id}/object/nowhere:v0`,
  }),
  '/calls/score': (project_id) => ({
    ...{ project_id, call_ids: [ids.id] },
    scorer_refs: [`weave:///${project_id}/object/nowhere:v0`],
  }),
  '/annotation_queues/stats': (project_id) => ({ project_id, queue_ids: ['queue'] }),
  '/v1/chat/completions': chat,
  '/v1/chat/completions/': chat,
  '/v1/chat/completions/:completion_id': () => ({ metadata: { run: '7' } }),
  '/v1/completions': completion,
  '/v1/embeddings': embeddings,
  '/v1/rerank': ranking,
  '/v1/decisions': decisions,
  '/v1/systemone': systemOne,
  '/v2/embed': cohereEmbed,
  '/infill': infilling,
  '/v1/fim/completions': () => ({
    ...{ model: 'scripted', prompt: 'a', suffix: 'b', max_tokens: 3, min_tokens: 1, temperature: 0 },
    ...{ top_p: 0.9, random_seed: 7, stop: ['x'], stream: false, store: false, metadata: { run: '7' } },
    prompt_cache_key: 'a',
  }),
  '/v2/rerank': ranking,
  '/rerank': ranking,
  '/api/chat': () => ({
    ...ofOllama(ollama.OllamaChatBody),
    messages: [
      { ...nothing(ollama.Message.shape), role: 'assistant', content: 'Hello', tool_calls: [ollamaCall] },
    ],
    tools: chat().tools,
  }),
  '/api/generate': () => ({ ...ofOllama(ollama.GenerateBody), prompt: 'Hello' }),
  '/api/embed': () => ({ ...ofOllama(ollama.EmbedBody), input: 'Hello' }),
  '/api/embeddings': () => ({ ...ofOllama(ollama.PromptEmbedBody), prompt: 'Hello' }),
  '/api/show': () => ({ ...nothing(ollama.ShowBody.shape), model: 'scripted', name: 'scripted' }),
  '/api/pull': () => ({ ...nothing(ollama.PullBody.shape), model: 'scripted', name: 'scripted' }),
  '/v1/score': scored,
  '/score': scored,
  '/v1/responses': response,
  '/v1/conversations': () => ({ items: [inputItem()], metadata: { a: 'b' } }),
  '/v1/conversations/:conversation_id': () => ({ metadata: { a: 'b' } }),
  '/v1/conversations/:conversation_id/items': () => ({ items: [inputItem()] }),
  '/v1/batches': () => ({
    ...{ input_file_id: 'file-x', endpoint: '/v1/embeddings', completion_window: '24h' },
    ...{ metadata: { a: 'b' }, output_expires_after: { anchor: 'created_at', seconds: 3600 } },
  }),
  '/v1/responses/input_tokens': () => ({ ...inputTokens(), personality: 'friendly' }),
  '/v1/messages': message,
  '/v1/messages/count_tokens': counted,
  '/v1/messages/batches': () => ({ requests: [{ custom_id: 'a', params: { ...message(), stream: false } }] }),
  '/tokenize': tokenize,
  '/mcp': () => ({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }),
  '/projects/:entity/:project/redaction': () => redaction,
  '/projects/:entity/:project/redaction/try': () => ({ redaction, limit: 10 }),
  '/detokenize': () => ({ model: 'scripted', tokens: [72, 105] }),
}

export function sampleBodyOf(url: string, project: string): Record<string, unknown> {
  const sample = sampleBodies[url]
  if (sample === undefined) throw new Error(`there is no sample body for ${url}`)
  return sample(project)
}

/** The routes with a body that are not POST. */
const otherMethods: Record<string, Method> = {
  '/budgets/:id': 'PUT',
  '/annotation_queues/:queue_id': 'PUT',
  '/annotation_queues/:queue_id/rules/:rule_id': 'PUT',
  '/alert_rules/:rule_id': 'PUT',
  '/alert_endpoints/:endpoint_id': 'PUT',
  '/monitors/:monitor_id': 'PUT',
  '/views/saved/:view_id': 'PUT',
  '/objs/:object_id/versions/:digest/tags': 'PUT',
  '/objs/:object_id/aliases': 'PUT',
  '/objs/:object_id/aliases/:alias/gate': 'PUT',
  '/objs/:object_id/aliases/:alias/shadow': 'PUT',
  '/users/:name/grants': 'PUT',
  '/projects/:entity/:project/redaction': 'PUT',
  '/users/:name/settings': 'PUT',
}

export const methodOf = (url: string): Method => otherMethods[url] ?? 'POST'
