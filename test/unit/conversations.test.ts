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

for (const [encoding, pieces] of Object.entries(encodings)) {
  for (const { name, of, attributes, events = [], asked, answered, previews, thread, usage } of conventions) {
    test(`${of}, ${name}: who said what, in ${encoding}`, () => {
      const span = spanOf(attributes, {
        events: events.map((event) => ({ name: event.name, attributes: attributesOf(event.attributes) })),
      })
      const [resource] = pieces(exportOf([span])) as [ResourcePiece]
      const [piece] = resource.items
      assert.ok(piece)
      const call = callOfSpan(piece.item(), resource.resource(), piece.scope(), 'acme/qa')
      const [inputs, output] = [call.inputs.text, call.output?.text]
      const found = conversationOf({ inputs, output, attributes: call.attributes.text, name: call.op_name })
      assert.deepEqual(lines(found), { asked, answered })
      assert.deepEqual([requestPreview(inputs).preview, answerPreview(output ?? 'null')], previews)
      assert.equal(call.thread_id ?? undefined, thread)
      assert.equal(call.turn_id ?? undefined, thread && call.id)
      assert.deepEqual(JSON.parse(call.summary.text).usage, usage)
    })
  }
}

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
