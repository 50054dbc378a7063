import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  type Block,
  type Conversation,
  conversationOf,
  type Message,
  paired,
} from '../../packages/conversations/index.ts'
import { answerPreview, requestPreview } from '../../src/domain/call-facts/preview.ts'
import { JsonText } from '../../src/domain/json/text.ts'
import { callOfSpan } from '../../src/operations/otel/call.ts'
import { piecesOfJson } from '../../src/operations/otel/json.ts'
import type { ResourcePiece } from '../../src/operations/otel/pieces.ts'
import { piecesOfProtobuf } from '../../src/operations/otel/protobuf.ts'
import { readExport } from '../../src/operations/otel/reading.ts'
import { conventions } from '../fixtures/conventions.ts'
import { attributesOf, exportOf, protobufOf, spanOf } from '../support/otlp.ts'

/** From the span to the call, and from the call to what a person reads of it. */

const blockLines: { [Kind in Block['kind']]: (block: Extract<Block, { kind: Kind }>) => string } = {
  text: ({ text }) => text,
  thought: ({ text }) => `thought ${text}`,
  context: ({ text }) => `context ${text}`,
  call: ({ id, name, input, result }) =>
    `call ${id === undefined ? '' : `${id} `}${name}(${input})${result ? ` → ${result.content.map(lineOf).join(' ')}` : ''}`,
  result: ({ id, content }) => `result ${id} ${content.map(lineOf).join(' ')}`,
  image: ({ source }) => `picture ${source}`,
  stored: ({ file }) => `picture ${file}`,
  file: ({ name }) => `file ${name}`,
  document: ({ id, score, text }) => `document ${id} ${score} ${text}`,
  data: ({ json }) => json,
  other: ({ json }) => `not recognised ${json}`,
}
const lineOf = (block: Block): string => (blockLines[block.kind] as (block: Block) => string)(block)

const messageLines = (messages: readonly Message[]) =>
  messages.map(
    ({ role, choice, ending, blocks }) =>
      `${role}${choice ? ` ${choice}` : ''}${ending ? ` (${ending})` : ''}: ${blocks.map(lineOf).join(' | ')}`,
  )

const lines = (conversation: Conversation | undefined) => {
  const { asked, answered } = paired(conversation ?? { asked: [], answered: [] })
  return { asked: messageLines(asked), answered: messageLines(answered) }
}

const encodings: Record<string, (body: ReturnType<typeof exportOf>) => ResourcePiece[]> = {
  JSON: ({ resourceSpans }) =>
    piecesOfJson({
      resourceSpans: resourceSpans.map(({ scopeSpans }) => ({
        scopeSpans: scopeSpans.map(({ spans }) => ({
          spans: spans.map((span) => new JsonText(JSON.stringify(span))),
        })),
      })),
    }),
  protobuf: (body) => piecesOfProtobuf(protobufOf(body)),
}

const callIn = (pieces: (typeof encodings)[string], span: ReturnType<typeof spanOf>) => {
  const [resource] = pieces(exportOf([span])) as [ResourcePiece]
  const [piece] = resource.items
  assert.ok(piece)
  const call = callOfSpan(piece.item(), resource.resource(), piece.scope(), 'acme/qa')
  const [inputs, output] = [call.inputs.text, call.output?.text]
  const found = conversationOf({ inputs, output, attributes: call.attributes.text, name: call.op_name })
  return { call, inputs, output, found }
}

for (const [encoding, pieces] of Object.entries(encodings)) {
  for (const { name, of, attributes, events = [], asked, answered, previews, thread, usage } of conventions) {
    test(`${of}, ${name}: who said what, in ${encoding}`, () => {
      const span = spanOf(attributes, {
        events: events.map((event) => ({ name: event.name, attributes: attributesOf(event.attributes) })),
      })
      const { call, inputs, output, found } = callIn(pieces, span)
      assert.deepEqual(lines(found), { asked, answered })
      assert.deepEqual([requestPreview(inputs).preview, answerPreview(output ?? 'null')], previews)
      assert.equal(call.thread_id ?? undefined, thread)
      assert.equal(call.turn_id ?? undefined, thread && call.id)
      assert.deepEqual(JSON.parse(call.summary.text).usage, usage)
    })
  }
}

/** Less usual forms of the same conventions. */
for (const [name, attributes, asked, answered, output] of [
  [
    'an answer of a text completion, without a role',
    {
      'gen_ai.prompt.0.role': 'user',
      'gen_ai.prompt.0.content': 'Warp count?',
      'gen_ai.completion.0.content': 'Twelve.',
    },
    ['user: Warp count?'],
    ['assistant: Twelve.'],
    'Twelve.',
  ],
  [
    'reasons of the end beside the choices',
    {
      'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"Warp count?"}]}]',
      'gen_ai.output.messages':
        '[{"role":"assistant","parts":[{"type":"text","content":"Tw"}]},{"role":"assistant","parts":[{"type":"text","content":"Twelve."}]}]',
      'gen_ai.response.finish_reasons': {
        arrayValue: { values: [{ stringValue: 'length' }, { stringValue: 'stop' }] },
      },
    },
    ['user: Warp count?'],
    ['assistant 1 (length): Tw', 'assistant 2: Twelve.'],
    'Tw',
  ],
  [
    'the reason of the Vercel AI SDK',
    {
      'ai.prompt.messages': '[{"role":"user","content":"Warp count?"}]',
      'ai.response.text': 'Twel',
      'ai.response.finishReason': 'content-filter',
    },
    ['user: Warp count?'],
    ['assistant (content-filter): Twel'],
    'Twel',
  ],
  [
    'instructions without a question',
    {
      'gen_ai.system_instructions': '[{"type":"text","content":"Be brief."}]',
      'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"Twelve."}]}]',
    },
    ['system: Be brief.'],
    ['assistant: Twelve.'],
    'Twelve.',
  ],
  [
    'the query of a reranker',
    {
      'openinference.span.kind': 'RERANKER',
      'reranker.query': 'warp',
      'reranker.output_documents.0.document.id': 'd1',
      'reranker.output_documents.0.document.content': 'Warp has 12 ends.',
      'reranker.output_documents.0.document.score': 0.8,
    },
    ['user: warp'],
    ['documents: document d1 0.8 Warp has 12 ends.'],
    'Warp has 12 ends.',
  ],
  [
    'a search of a memory',
    {
      'gen_ai.operation.name': 'search_memory',
      'gen_ai.memory.query.text': 'warp',
      'gen_ai.memory.records': '[{"id":"d1","content":"Warp has 12 ends.","score":0.8}]',
    },
    ['user: warp'],
    ['documents: document d1 0.8 Warp has 12 ends.'],
    'Warp has 12 ends.',
  ],
] as [string, Record<string, unknown>, string[], string[], string][]) {
  test(`who said what: ${name}`, () => {
    const { found, output: json } = callIn(encodings.JSON as (typeof encodings)[string], spanOf(attributes))
    assert.deepEqual(lines(found), { asked, answered })
    assert.equal(answerPreview(json ?? 'null'), output)
  })
}

test('what Claude Code notes of a tool is its result, whichever tool it is', () => {
  const resultOf = (attributes: Record<string, unknown>) => {
    const events = [{ name: 'tool.output', attributes: attributesOf(attributes) }]
    const tool = { 'span.type': 'tool', 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'T' }
    return callIn(encodings.JSON as (typeof encodings)[string], spanOf(tool, { events })).output
  }
  assert.equal(resultOf({ bash_command: 'echo hi', output: 'hi' }), '"hi"')
  assert.equal(resultOf({ file_path: '/a', content: 'text of a' }), '"text of a"')
  assert.equal(resultOf({ diff: '+a' }), '{"diff":"+a"}')
})

test('tokens that are texts, and those of LangSmith in details, are counted', () => {
  const usageOf = (attributes: Record<string, unknown>) =>
    JSON.parse(callIn(encodings.JSON as (typeof encodings)[string], spanOf(attributes)).call.summary.text)
      .usage
  const langfuse = { 'langfuse.observation.usage_details': '{"input":"5","output":3}' }
  assert.deepEqual(usageOf(langfuse), { unknown: { input_tokens: 5, output_tokens: 3 } })
  const langsmith = '{"input_tokens":5,"output_tokens":3,"input_token_details":{"cache_read":2}}'
  assert.deepEqual(usageOf({ 'langsmith.usage_metadata': langsmith }), {
    unknown: { input_tokens: 5, output_tokens: 3, cache_read_input_tokens: 2 },
  })
})

test('what Logfire announces at the beginning of a span is no call', () => {
  const [resource] = readExport(
    (encodings.JSON as (typeof encodings)[string])(
      exportOf([spanOf({ 'logfire.span_type': 'pending_span' }), spanOf({ 'logfire.span_type': 'span' })]),
    ),
  )
  assert.equal(resource?.items.length, 1)
})

test('a call at the end of a request stays where the answer has no words, either', () => {
  const call = { role: 'assistant', parts: [{ type: 'server_tool_call', id: 'k1', name: 'web' }] }
  const picture = { type: 'uri', modality: 'image', uri: 'https://x.test/a.png' }
  const found = conversationOf({
    inputs: JSON.stringify({ messages: [{ role: 'user', content: 'Warp?' }, call] }),
    output: JSON.stringify([{ role: 'assistant', parts: [picture] }]),
  })
  assert.deepEqual(lines(found), {
    asked: ['user: Warp?', 'assistant: call k1 web()'],
    answered: ['assistant: picture https://x.test/a.png'],
  })
})

test('docs/otel.md has the table of these conventions', () => {
  const byOwner = Map.groupBy(conventions, ({ of }) => of)
  const rows = [...byOwner].map(([of, all]) => `| ${of} | ${all.map(({ name }) => name).join('; ')} |`)
  const page = readFileSync(new URL('../../docs/otel.md', import.meta.url), 'utf8')
  const table = `| Convention | Recorded as |\n|---|---|\n${rows.join('\n')}\n\n`
  assert.ok(page.includes(table), `The table should be:\n\n${table}`)
})
