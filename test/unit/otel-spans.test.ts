import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JsonText } from '../../src/domain/json/text.ts'
import type { CompleteCall } from '../../src/operations/calls/contract.ts'
import { callOfSpan } from '../../src/operations/otel/call.ts'
import { inputOf } from '../../src/operations/otel/conventions.ts'
import { piecesOfJson } from '../../src/operations/otel/json.ts'
import type { ResourcePiece } from '../../src/operations/otel/pieces.ts'
import { piecesOfProtobuf } from '../../src/operations/otel/protobuf.ts'
import { type Span, SpanError } from '../../src/operations/otel/span.ts'
import { attributesOf, exportOf, otlpSpanId, otlpTraceId, protobufOf, spanOf } from '../support/otlp.ts'

const json = (value: unknown) => new JsonText(JSON.stringify(value))

/** Reads a body as the HTTP side passes it: spans, scopes and resources are texts. */
function readJson({ resourceSpans }: ReturnType<typeof exportOf>): ResourcePiece[] {
  return piecesOfJson({
    resourceSpans: resourceSpans.map(({ resource, scopeSpans }) => ({
      resource: json(resource),
      scopeSpans: scopeSpans.map(({ spans }) => ({ spans: spans.map(json) })),
    })),
  })
}

const encodings = {
  JSON: readJson,
  protobuf: (body: ReturnType<typeof exportOf>) => piecesOfProtobuf(protobufOf(body)),
}

function callOf(span: object, read: (body: ReturnType<typeof exportOf>) => ResourcePiece[]): CompleteCall {
  const [piece] = read(exportOf([span])) as [ResourcePiece]
  const [opened] = piece.items
  assert.ok(opened)
  return callOfSpan(opened.item(), piece.resource(), opened.scope(), 'acme/qa')
}

const user = '[{"role":"user","content":"hi"}]'

const manyPairs = attributesOf(Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, n])))

function eventsWith(events: number, attributes: number) {
  const values = Object.fromEntries(Array.from({ length: attributes }, (_, n) => [`a${n}`, n]))
  return Array(events).fill({ attributes: attributesOf(values) })
}

for (const [name, attributes, expected] of [
  ['nothing', {}, { attributes: '{}', inputs: '{}', output: undefined, summary: '{}' }],
  [
    'objects within objects',
    { 'a.b': 'x', 'a.c.d': true, e: 'y', '__proto__.f': 'z' },
    { attributes: '{"a":{"b":"x","c":{"d":true}},"e":"y","__proto__":{"f":"z"}}' },
  ],
  [
    'numbers with their digits',
    {
      i: 9007199254740993n,
      least: -9223372036854775808n,
      d: 0.1,
      whole: { doubleValue: '1' },
      large: { doubleValue: 1e300 },
      none: { doubleValue: 'NaN' },
      less: { doubleValue: '-Infinity' },
    },
    {
      attributes:
        '{"i":9007199254740993,"least":-9223372036854775808,"d":0.1,"whole":1.0,"large":1e+300,"none":"NaN","less":"-Infinity"}',
    },
  ],
  [
    'lists, objects, bytes and nothing',
    {
      list: { arrayValue: { values: [{ intValue: '1' }, { stringValue: 'x' }, {}] } },
      object: { kvlistValue: { values: attributesOf({ 'a.b': 1, __proto__: 'x', c: 'y' }) } },
      bytes: { bytesValue: '3q2+7w==' },
      empty: { arrayValue: {} },
      nothing: {},
    },
    {
      attributes:
        '{"list":[1,"x",null],"object":{"a.b":1,"c":"y"},"bytes":"3q2+7w==","empty":[],"nothing":null}',
    },
  ],
  [
    'the GenAI conventions',
    {
      'gen_ai.input.messages': user,
      'gen_ai.output.messages': '[{"role":"assistant","score":1.0}]',
      'gen_ai.request.model': 'small',
      'gen_ai.response.model': 'small-2',
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.output_tokens': 7,
      'gen_ai.usage.cache_read.input_tokens': 2,
      'gen_ai.conversation.id': 'talk',
    },
    {
      inputs: `{"messages":${user}}`,
      output: '[{"role":"assistant","score":1.0}]',
      summary: '{"usage":{"small-2":{"input_tokens":5,"output_tokens":7,"cache_read_input_tokens":2}}}',
      attributes:
        '{"gen_ai":{"request":{"model":"small"},"response":{"model":"small-2"},"usage":{"input_tokens":5,"output_tokens":7,"cache_read":{"input_tokens":2}},"conversation":{"id":"talk"}}}',
      thread_id: 'talk',
    },
  ],
  [
    'messages that were flattened',
    {
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': 'hi',
      'gen_ai.prompt.1.role': 'tool',
      'gen_ai.completion.0.content': 'yes',
      'gen_ai.usage.prompt_tokens': 3,
      'gen_ai.usage.completion_tokens': { stringValue: '4' },
    },
    {
      inputs: '{"prompt":[{"role":"user","content":"hi"},{"role":"tool"}]}',
      output: '[{"content":"yes"}]',
      summary: '{"usage":{"unknown":{"input_tokens":3,"output_tokens":4}}}',
      attributes: '{"gen_ai":{"usage":{"prompt_tokens":3,"completion_tokens":"4"}}}',
    },
  ],
  [
    'retrieved documents of OpenInference',
    {
      'input.value': 'capital of Chad',
      'retrieval.documents.0.document.content': "N'Djamena",
      'retrieval.documents.0.document.score': 0.5,
    },
    {
      inputs: '{"value":"capital of Chad"}',
      output: '[{"document":{"content":"N\'Djamena","score":0.5}}]',
      attributes: '{}',
    },
  ],
  [
    'a text that the Vercel AI SDK embeds',
    { 'ai.value': '"a \\"text\\""', 'ai.usage.tokens': 5, 'ai.model.id': 'vectors' },
    {
      inputs: '{"value":"a \\"text\\""}',
      summary: '{"usage":{"vectors":{"input_tokens":5,"total_tokens":5}}}',
    },
  ],
  [
    'several texts of the Vercel AI SDK, one of them not JSON',
    { 'ai.values': { arrayValue: { values: [{ stringValue: '"a"' }, { stringValue: '"b' }] } } },
    { inputs: '{"input":["a","\\"b"]}' },
  ],
  [
    'a run of Pydantic AI',
    {
      'pydantic_ai.all_messages': user,
      final_result: 'yes',
      model_name: 'small',
      'gen_ai.usage.input_tokens': 5,
    },
    {
      inputs: `{"messages":${user}}`,
      output: '"yes"',
      summary: '{"usage":{"small":{"input_tokens":5}}}',
      attributes: '{"model_name":"small","gen_ai":{"usage":{"input_tokens":5}}}',
    },
  ],
  [
    'MLflow, whose texts are JSON',
    {
      'mlflow.spanInputs': '{"q":1.0}',
      'mlflow.spanOutputs': '"yes"',
      'mlflow.chat.tokenUsage': '{"input_tokens":3,"output_tokens":4,"total_tokens":7}',
    },
    {
      inputs: '{"q":1.0}',
      output: '"yes"',
      summary: '{"usage":{"unknown":{"input_tokens":3,"output_tokens":4,"total_tokens":7}}}',
    },
  ],
  [
    'OpenInference',
    {
      'input.value': '{"question": "capital of Chad", "n": 1.50}',
      'output.value': "N'Djamena",
      'llm.input_messages.0.message.role': 'user',
      'llm.model_name': 'small',
      'llm.token_count.prompt': 1,
      'llm.token_count.completion': 2,
      'llm.token_count.total': 3,
      'session.id': 's',
    },
    {
      inputs: '{"messages":[{"message":{"role":"user"}}]}',
      output: `"N'Djamena"`,
      summary: '{"usage":{"small":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}}',
      thread_id: 's',
    },
  ],
  [
    'texts that only look like JSON',
    { 'input.value': '{not json', 'output.value': '[1, 2' },
    { inputs: '{"value":"{not json"}', output: '"[1, 2"' },
  ],
  [
    'JSON that is too deep and stays a text',
    { 'output.value': '['.repeat(150) + ']'.repeat(150) },
    {
      output: JSON.stringify('['.repeat(150) + ']'.repeat(150)),
    },
  ],
  [
    'invalid counts',
    { 'gen_ai.usage.input_tokens': 'many', 'llm.usage.total_tokens': -1 },
    { summary: '{}' },
  ],
  [
    'the attributes of Weave itself',
    {
      'wandb.thread_id': 't',
      'wandb.is_turn': true,
      'wandb.display_name': 'Ask',
      'wandb.wb_run_id': 'run',
      'wandb.wb_run_step': 3,
      'wandb.wb_run_step_end': 4,
      'session.id': 'other',
    },
    {
      thread_id: 't',
      turn_id: otlpSpanId,
      display_name: 'Ask',
      svc_run_id: 'run',
      svc_run_step: 3,
      svc_run_step_end: 4,
    },
  ],
  [
    'tool calls of the Vercel AI SDK beside a text that is empty',
    { 'ai.response.text': '', 'ai.response.toolCalls': '[{"toolName":"count"}]' },
    { output: '{"toolCalls":[{"toolName":"count"}]}', attributes: '{}' },
  ],
  [
    'thoughts of the Vercel AI SDK beside a text that is empty',
    { 'ai.response.text': '', 'ai.response.reasoning': 'hm' },
    { output: '{"reasoning":"hm"}' },
  ],
  [
    'numbers that are names',
    { 'gen_ai.completion.0.scores.404': 1, 'gen_ai.completion.0.scores.500': 2 },
    { output: '[{"scores":{"404":1,"500":2}}]' },
  ],
  [
    'messages whose first was dropped',
    { 'gen_ai.prompt.5.content': 'a', 'gen_ai.prompt.6.content': 'b' },
    { inputs: '{"prompt":[{"content":"a"},{"content":"b"}]}' },
  ],
  ['only an empty text of the Vercel AI SDK', { 'ai.response.text': '' }, { output: '""' }],
  [
    'cached tokens of LangSmith',
    {
      'gen_ai.request.model': 'small',
      'gen_ai.usage.input_tokens': 17,
      'gen_ai.usage.output_tokens': 13,
      'gen_ai.usage.input_token_details': '{"cache_read":9,"cache_creation":1}',
      'langsmith.usage_metadata':
        '{"input_tokens":17,"output_tokens":13,"total_tokens":30,"input_token_details":{"cache_read":9}}',
    },
    {
      summary:
        '{"usage":{"small":{"input_tokens":17,"output_tokens":13,"total_tokens":30,"cache_read_input_tokens":9,"cache_creation_input_tokens":1}}}',
    },
  ],
  [
    'cached tokens of Pydantic AI',
    {
      'gen_ai.request.model': 'small',
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.details.cache_read_tokens': 2,
      'gen_ai.usage.details.cache_write_tokens': 1,
    },
    {
      summary:
        '{"usage":{"small":{"input_tokens":5,"cache_read_input_tokens":2,"cache_creation_input_tokens":1}}}',
    },
  ],
  ...[
    ['Genkit', 'genkit:input', 'genkit:output'],
    ['Haystack', 'haystack.component.input', 'haystack.component.output'],
    ['Braintrust', 'braintrust.input_json', 'braintrust.output_json'],
    ['Logfire', 'request_data', 'response_data'],
    ['Sentry', 'gen_ai.request.messages', 'gen_ai.response.text'],
    ['tools of Sentry', 'gen_ai.tool.input', 'gen_ai.tool.output'],
    ['agents of Semantic Kernel', 'gen_ai.agent.invocation_input', 'gen_ai.agent.invocation_output'],
    ['agents of Mastra', 'mastra.agent_run.input', 'mastra.agent_run.output'],
    ['steps of Mastra', 'mastra.workflow_step.input', 'mastra.workflow_step.output'],
    ['tools of Spring AI', 'spring.ai.tool.call.arguments', 'spring.ai.tool.call.result'],
  ].map(
    ([owner = '', input = '', output = '']): [string, Record<string, unknown>, Record<string, unknown>] => [
      `input and output of ${owner}`,
      { [input]: '{"a":1}', [output]: '{"b":2}' },
      { inputs: '{"a":1}', output: '{"b":2}' },
    ],
  ),
  ['a turn without a thread', { 'wandb.is_turn': true }, { thread_id: null, turn_id: null }],
] as [string, Record<string, unknown>, Record<string, unknown>][]) {
  for (const [encoding, read] of Object.entries(encodings)) {
    test(`a span with ${name}, in ${encoding}`, () => {
      const call = callOf(spanOf(attributes), read) as Record<string, unknown>
      for (const [field, value] of Object.entries(expected)) {
        const found = call[field]
        assert.equal(found instanceof JsonText ? found.text : (found ?? value), value, field)
      }
    })
  }
}

for (const [counts, scope, expected] of [
  [{ input: 2, output: 20, total: 22, cache_read: 24, cache_creation: 1 }, 'any', [27, 20, 47, 24, 1]],
  [{ input: 26, output: 20, cache_read: 24, cache_creation: 0 }, 'any', [26, 20, undefined, 24, 0]],
  [
    { input: 30, output: 5, total: 35, cache_read: 24 },
    '@traceloop/instrumentation-anthropic',
    [54, 5, 59, 24, undefined],
  ],
  [{ input: 2, output: 20, total: 46, cache_read: 24 }, 'any', [26, 20, 46, 24, undefined]],
  [{ output: 20, cache_read: 24 }, 'any', [undefined, 20, undefined, 24, undefined]],
] as [Record<string, number>, string, (number | undefined)[]][]) {
  test(`the input of ${scope} with ${JSON.stringify(counts)} includes what a cache had or got`, () => {
    const own = Object.entries(counts).map(([name, tokens]) => {
      const ending = name.startsWith('cache_') ? '.input_tokens' : '_tokens'
      return [`gen_ai.usage.${name}${ending}`, tokens]
    })
    const body = exportOf([spanOf({ 'gen_ai.request.model': 'm', ...Object.fromEntries(own) })])
    for (const group of body.resourceSpans[0]?.scopeSpans ?? [])
      Object.assign(group, { scope: { name: scope } })
    const [piece] = encodings.protobuf(body) as [ResourcePiece]
    const [opened] = piece.items
    assert.ok(opened)
    const { summary } = callOfSpan(opened.item(), piece.resource(), opened.scope(), 'acme/qa')
    const usage = JSON.parse(summary.text).usage.m
    assert.deepEqual(
      [
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        usage.cache_read_input_tokens,
        usage.cache_creation_input_tokens,
      ],
      expected,
    )
  })
}

for (const [encoding, read] of Object.entries(encodings)) {
  test(`every part of a span is stored, in ${encoding}`, () => {
    const span = spanOf(
      { a: 1 },
      {
        parentSpanId: '00f067aa0ba902b7',
        traceState: 'x=y',
        flags: 257,
        droppedAttributesCount: 1,
        events: [
          {
            name: 'log',
            timeUnixNano: '1767323045223456789',
            attributes: attributesOf({ 'b.c': 'd' }),
            droppedAttributesCount: 2,
          },
        ],
        droppedEventsCount: 3,
        links: [
          {
            traceId: otlpTraceId,
            spanId: '00f067aa0ba902b8',
            traceState: 'z=1',
            flags: 1,
            attributes: attributesOf({ 'b.c': 2 }),
            droppedAttributesCount: 4,
          },
        ],
        droppedLinksCount: 5,
        status: { code: 1 },
      },
    )
    const call = callOf(span, read)
    assert.equal(call.id, otlpSpanId)
    assert.equal(call.trace_id, otlpTraceId)
    assert.equal(call.parent_id, '00f067aa0ba902b7')
    assert.equal(call.op_name, 'chat')
    assert.equal(call.started_at, 1_767_323_045_123_456)
    assert.equal(call.ended_at, 1_767_323_046_500_000)
    assert.equal(call.exception, null)
    assert.deepEqual(JSON.parse(call.otel_dump?.text ?? ''), {
      name: 'chat',
      context: { trace_id: otlpTraceId, span_id: otlpSpanId, trace_state: 'x=y' },
      kind: 'CLIENT',
      parent_id: '00f067aa0ba902b7',
      start_time: '2026-01-02T03:04:05.123456Z',
      end_time: '2026-01-02T03:04:06.500Z',
      start_time_unix_nano: '1767323045123456789',
      end_time_unix_nano: '1767323046500000999',
      status: { code: 'OK', message: '' },
      flags: 257,
      attributes: { a: 1 },
      dropped_attributes_count: 1,
      events: [
        {
          name: 'log',
          time_unix_nano: '1767323045223456789',
          attributes: { 'b.c': 'd' },
          dropped_attributes_count: 2,
        },
      ],
      dropped_events_count: 3,
      links: [
        {
          trace_id: otlpTraceId,
          span_id: '00f067aa0ba902b8',
          trace_state: 'z=1',
          flags: 1,
          attributes: { 'b.c': 2 },
          dropped_attributes_count: 4,
        },
      ],
      dropped_links_count: 5,
      resource: {
        attributes: { 'wandb.entity': 'acme', 'wandb.project': 'qa' },
        dropped_attributes_count: 0,
        schema_url: '',
      },
      scope: { name: '', version: '', attributes: {}, dropped_attributes_count: 0, schema_url: '' },
    })
  })

  test(`messages in an event are found, in ${encoding}`, () => {
    const events = [
      { name: 'gen_ai.content.prompt', attributes: attributesOf({ 'gen_ai.prompt': user }) },
      { name: 'gen_ai.content.completion', attributes: attributesOf({ 'gen_ai.completion': 'yes' }) },
    ]
    const call = callOf(spanOf({ 'gen_ai.system': 'x' }, { events }), read)
    assert.equal(call.inputs.text, `{"prompt":${user}}`)
    assert.equal(call.output?.text, '"yes"')
    assert.equal(call.attributes.text, '{"gen_ai":{"system":"x"}}')
  })

  test(`an exception of LangSmith is an error although the status is OK, in ${encoding}`, () => {
    const events = [{ name: 'exception', attributes: attributesOf({ 'exception.message': 'no model' }) }]
    const fields = { events, status: { code: 1 } }
    assert.equal(callOf(spanOf({ 'langsmith.span.kind': 'llm' }, fields), read).exception, 'no model')
    assert.equal(
      callOf(spanOf({ 'langsmith.span.kind': 'llm' }, { status: { code: 1 } }), read).exception,
      null,
    )
    assert.equal(callOf(spanOf({}, fields), read).exception, null)
  })

  for (const [name, fields, exception] of [
    ['its message', { status: { code: 2, message: 'no model' } }, 'no model'],
    [
      'the last exception',
      {
        status: { code: 2 },
        events: [
          { name: 'exception', attributes: attributesOf({ 'exception.message': 'first' }) },
          {
            name: 'exception',
            attributes: attributesOf({ 'exception.message': 'last', 'exception.type': 'T' }),
          },
          { name: 'log' },
        ],
      },
      'last',
    ],
    [
      'the type of the exception',
      {
        status: { code: 2 },
        events: [{ name: 'exception', attributes: attributesOf({ 'exception.type': 'T' }) }],
      },
      'T',
    ],
    ['the type of the error', { status: { code: 2 }, attributes: attributesOf({ 'error.type': 'T' }) }, 'T'],
    ['a general text', { status: { code: 2 } }, 'Error'],
    [
      'the status message of Langfuse',
      {
        attributes: attributesOf({
          'langfuse.observation.level': 'ERROR',
          'langfuse.observation.status_message': 'no model',
        }),
      },
      'no model',
    ],
    [
      'a message without the characters that a text column cannot store',
      { status: { code: 2, message: 'a\0b' } },
      'a\ufffdb',
    ],
    [
      'no error when its status is not an error',
      {
        status: { code: 1, message: 'fine' },
        events: [{ name: 'exception', attributes: attributesOf({ 'exception.message': 'handled' }) }],
      },
      null,
    ],
  ] as const) {
    test(`the exception of a span is ${name}, in ${encoding}`, () => {
      assert.equal(callOf(spanOf({}, fields), read).exception, exception)
    })
  }

  for (const [name, opName] of [
    ['', 'unknown'],
    ['x'.repeat(128), 'x'.repeat(128)],
    ['x'.repeat(129), `${'x'.repeat(127)}…`],
    [`${'x'.repeat(126)}😀😀`, `${'x'.repeat(126)}…`],
    ['a\0b', 'a\ufffdb'],
  ] as const) {
    test(`the name ${JSON.stringify(name.slice(-8))} of ${name.length} characters is kept in full, in ${encoding}`, () => {
      const call = callOf(spanOf({}, { name }), read)
      assert.equal(call.op_name, opName)
      assert.equal(JSON.parse(call.otel_dump?.text ?? '').name, name)
    })
  }

  for (const [attributes, fields, why] of [
    [{ 'a.b': 1, a: 2 }, {}, 'attribute "a" conflicts with attribute "a.…"'],
    [{ a: 1, 'a.b.c': 2 }, {}, 'attribute "a.b.c" conflicts with attribute "a"'],
    [{ a: { kvlistValue: {} }, 'a.b': 2 }, {}, 'attribute "a.b" conflicts with attribute "a"'],
    [
      { 'otel_span.x': 1 },
      {},
      'attribute "otel_span" conflicts with the attribute that stores the span itself',
    ],
    [{ [`${'a.'.repeat(100)}b`]: 1 }, {}, `attribute "${'a.'.repeat(50)}…" has more than 100 steps`],
    [{}, { spanId: '' }, 'spanId: expected 8 bytes that are not all zero, received ""'],
    [
      {},
      { spanId: '0000000000000000' },
      'spanId: expected 8 bytes that are not all zero, received "0000000000000000"',
    ],
    [{}, { traceId: 'abcd' }, 'traceId: expected 16 bytes that are not all zero, received "abcd"'],
    [{}, { parentSpanId: 'abcd' }, 'parentSpanId: expected 8 bytes that are not all zero, received "abcd"'],
    [
      {},
      { startTimeUnixNano: '0' },
      'startTimeUnixNano: expected nanoseconds since 1970 before the year 2255, received 0',
    ],
    [
      {},
      { endTimeUnixNano: '18446744073709551615' },
      'endTimeUnixNano: expected nanoseconds since 1970 before the year 2255, received 18446744073709551615',
    ],
    [{ 'wandb.thread_id': 'x'.repeat(513) }, {}, 'wandb.thread_id: expected at most 512 characters'],
    [
      { 'wandb.wb_run_step': -1 },
      {},
      'wandb.wb_run_step: expected a whole number of at least 0, received "-1"',
    ],
    [{ a: { arrayValue: { values: Array(10_001).fill({}) } } }, {}, 'values: more than 10000 entries in all'],
    [
      Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`a${n}`, n])),
      {},
      'attributes: more than 10000 entries in all',
    ],
    [{}, { events: eventsWith(100, 100) }, 'attributes: more than 10000 entries in all'],
    [{ a: 1 }, { events: Array(10_000).fill({}) }, 'events: more than 10000 entries in all'],
    [
      { a: { arrayValue: { values: Array(5000).fill({}) } }, b: { kvlistValue: { values: manyPairs } } },
      {},
      'values: more than 10000 entries in all',
    ],
    [
      {},
      {
        links: [
          ...Array(6000).fill({}),
          { attributes: [{ key: 'a', value: { kvlistValue: { values: manyPairs } } }] },
        ],
      },
      'values: more than 10000 entries in all',
    ],
  ] as [Record<string, unknown>, object, string][]) {
    test(`a span is malformed: ${why.slice(0, 60)}, in ${encoding}`, () => {
      assert.throws(
        () => callOf(spanOf(attributes, { ...fields }), read),
        (error) => {
          assert.ok(error instanceof SpanError)
          assert.equal(error.message, why)
          return true
        },
      )
    })
  }
}

test('a span with far too many entries is refused before it is parsed', () => {
  const text = JSON.stringify(spanOf({}, { events: eventsWith(900, 25) }))
  const [piece] = piecesOfJson({
    resourceSpans: [{ scopeSpans: [{ spans: [new JsonText(`${text} and this is no JSON`)] }] }],
  })
  assert.throws(() => piece?.items[0]?.item(), new SpanError('more than 10000 entries in all'))
  const strings = json(spanOf({ a: '{,'.repeat(100_000), b: '\\\\\\",[' }))
  const [other] = piecesOfJson({ resourceSpans: [{ scopeSpans: [{ spans: [strings] }] }] })
  assert.equal(other?.items[0]?.item().attributes.size, 2)
})

for (const [encoding, read] of Object.entries(encodings)) {
  test(`a span may have the maximum number of entries, in ${encoding}`, () => {
    const { otel_dump } = callOf(spanOf({ a: 1 }, { events: eventsWith(99, 100) }), read)
    assert.equal(JSON.parse(otel_dump?.text ?? '{}').events.length, 99)
  })
}

test('attributes are searched once for all names that are known', () => {
  let walks = 0
  class WalkedMap extends Map<string, string> {
    override keys() {
      walks++
      return super.keys()
    }
    override [Symbol.iterator]() {
      walks++
      return super[Symbol.iterator]()
    }
  }
  const event = { attributes: new WalkedMap([['http.route', '/x']]) }
  const span = { attributes: new Map(), events: [event] } as unknown as Span
  assert.equal(inputOf(span), undefined)
  assert.equal(walks, 1)
  event.attributes.set('gen_ai.prompt.0.role', 'user')
  const found = '{"name":"prompt","value":[{"role":"user"}],"taken":[]}'
  assert.equal(JSON.stringify(inputOf(span)), found)
})

test('a parent id of zeros means no parent', () => {
  assert.equal(callOf(spanOf({}, { parentSpanId: '0000000000000000' }), readJson).parent_id, null)
  assert.equal(callOf(spanOf({}, { parentSpanId: '' }), readJson).parent_id, null)
})

test('ids in capital letters are the same ids', () => {
  const call = callOf(
    spanOf({}, { traceId: otlpTraceId.toUpperCase(), spanId: otlpSpanId.toUpperCase() }),
    readJson,
  )
  assert.deepEqual([call.id, call.trace_id], [otlpSpanId, otlpTraceId])
})

for (const [fields, why] of [
  [{ name: 5 }, 'name: expected a string, received 5'],
  [{ kind: 'SPAN_KIND_CLIENT' }, 'kind: expected a number, received "SPAN_KIND_CLIENT"'],
  [
    { traceId: 'CvdlGRbNQ92ESOshHIAxnA==' },
    'traceId: expected hexadecimal digits, received "CvdlGRbNQ92ESOshHIAxnA=="',
  ],
  [
    { startTimeUnixNano: '-1' },
    'startTimeUnixNano: expected nanoseconds since 1970, of 64 bits, received "-1"',
  ],
  [
    { startTimeUnixNano: '18446744073709551616' },
    'startTimeUnixNano: expected nanoseconds since 1970, of 64 bits, received "18446744073709551616"',
  ],
  [{ attributes: {} }, 'attributes: expected a list, received an object'],
  [{ attributes: [5] }, 'attributes: expected an object, received 5'],
  [{ attributes: [{ key: 'a', value: 5 }] }, 'value: expected an object, received 5'],
  [
    { attributes: [{ key: 'a', value: { intValue: '1.5' } }] },
    'intValue: expected a whole number of 64 bits, received "1.5"',
  ],
  [
    { attributes: [{ key: 'a', value: { intValue: '9223372036854775808' } }] },
    'intValue: expected a whole number of 64 bits, received "9223372036854775808"',
  ],
  [
    { attributes: [{ key: 'a', value: { doubleValue: 'x' } }] },
    'doubleValue: expected a number, received "x"',
  ],
  [{ attributes: [{ key: 'a', value: { boolValue: 1 } }] }, 'boolValue: expected a boolean, received 1'],
  [{ attributes: [{ key: 'a', value: { stringValue: 1 } }] }, 'stringValue: expected a string, received 1'],
  [{ droppedLinksCount: -1 }, 'droppedLinksCount: expected a whole number of 32 bits, received -1'],
  [{ status: 2 }, 'status: expected an object, received 2'],
] as const) {
  test(`JSON of a wrong shape is refused with the reason: ${why}`, () => {
    assert.throws(() => callOf(spanOf({}, { ...fields }), readJson), new SpanError(why))
  })
}

test('numbers in JSON keep their digits', () => {
  const text = `{"traceId":"${otlpTraceId}","spanId":"${otlpSpanId}","startTimeUnixNano":1767323045123456789,"endTimeUnixNano":1767323046500000999,"attributes":[{"key":"i","value":{"intValue":9007199254740993}},{"key":"d","value":{"doubleValue":1.50}},{"key":"e","value":{"doubleValue":1E5}},{"key":"n","value":{"stringValue":null,"doubleValue":3}}]}`
  const pieces = piecesOfJson({
    resourceSpans: [{ scopeSpans: [{ spans: [new JsonText(text)] }] }],
  })
  const span = pieces[0]?.items[0]?.item()
  assert.ok(span && pieces[0])
  assert.equal(span.startTimeUnixNano, 1767323045123456789n)
  const scope = pieces[0].items[0]?.scope()
  assert.ok(scope)
  const call = callOfSpan(span, pieces[0].resource(), scope, 'acme/qa')
  assert.equal(call.attributes.text, '{"i":9007199254740993,"d":1.50,"e":1E5,"n":3}')
})

test('values nested deeper than 100 levels are malformed', () => {
  let value: Record<string, unknown> = { intValue: '1' }
  for (let level = 0; level < 100; level++) value = { arrayValue: { values: [value] } }
  const body = exportOf([spanOf({ a: value })])
  const [piece] = readJson(body)
  assert.throws(() => piece?.items[0]?.item(), new SpanError('a value is nested deeper than 100 levels'))
})

test('bytes that are not a span make only that span malformed; bytes that are not an export are refused', () => {
  const submessage = (bytes: number[]) => [0x0a, bytes.length, ...bytes]
  const spans = (bytes: number[]) => submessage([0x12, bytes.length + 2, 0x12, bytes.length, ...bytes])
  const [piece] = piecesOfProtobuf(Uint8Array.from(spans([0x0a, 0x7f, 1])))
  assert.throws(() => piece?.items[0]?.item(), new SpanError('cannot be read: premature EOF'))
  for (const bytes of [[0x0a, 0x7f], [0x0a], [0xff, 0xff], [0x0b], spans([1]).slice(0, -1)]) {
    assert.throws(() => piecesOfProtobuf(Uint8Array.from(bytes)), {
      name: 'Refusal',
      code: 'malformed_protobuf',
    })
  }
  assert.deepEqual(piecesOfProtobuf(new Uint8Array()), [])
})

test('a request with too many parts is refused before they are read', () => {
  const many = Buffer.alloc(2 * 50_001, Buffer.from([0x0a, 0]))
  assert.throws(() => piecesOfProtobuf(many), { name: 'Refusal', code: 'too_many_ids' })
  assert.equal(piecesOfProtobuf(many.subarray(2)).length, 50_000)
  const resourceSpans = Array(50_001).fill({})
  assert.throws(() => piecesOfJson({ resourceSpans }), { name: 'Refusal', code: 'too_many_ids' })
})
