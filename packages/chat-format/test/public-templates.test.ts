import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { formatOfTemplate, formatsPage, publicTemplates } from '../../../scripts/chat-templates.ts'
import { seededRandom } from '../../../test/support/seeded-random.ts'
import type { CallFormat, TaggedArguments } from '../call-format.ts'
import { createTurnProbe } from '../finding/turns.ts'
import { createRendering } from '../template/rendering.ts'
import { partsOf, told } from './answer-reading.ts'
import { followerOf, tool } from './turns.ts'

const found = publicTemplates()
const templates = typeof found === 'string' ? [] : found
const skip = typeof found === 'string' ? `no public templates: ${found}` : false

const turns = 40
const tokens = { bos_token: '<s>', eos_token: '</s>', documents: null }

/** In alphabetical order, in which some templates write arguments. */
const parameters = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer' },
    exact: { type: 'boolean' },
    filter: { type: 'object', properties: { by: { type: 'string' }, not: { type: 'boolean' } } },
    kinds: { type: 'array', items: { type: 'string' } },
    limit: { type: 'number' },
    unit: { enum: ['celsius', 'kelvin'] },
  },
  required: ['city'],
}
const tools = ['get_weather', 'get', 'book-trip'].map((name) => tool(name, parameters))
const names = tools.map(({ name }) => name)

const texts = [
  '',
  ' ',
  'Rome',
  ' a b ',
  'x\ny\n',
  '"q"',
  "it's",
  '\\n',
  '<b>&amp;</b>',
  '{"a": 1}',
  'true',
  '7',
  'é🙂',
  '</tool_call>',
]

/** Arguments that the schema allows. A text that is written without quotes cannot contain its end marker. */
function randomArguments(
  below: (count: number) => number,
  { arguments: form }: CallFormat,
  isNested: boolean,
) {
  // Templates do not write Python's escapes.
  const isUsable = {
    json: () => true,
    python: (text: string) => !/['"\\\n]/.test(text),
    elements: () => true,
    tagged(text: string) {
      const { written, after, wrap } = (form as TaggedArguments).values.string
      return written === 'json' || wrap !== undefined || after.trim() === '' || !text.includes(after.trim())
    },
  }[form.kind]
  const usable = texts.filter(isUsable)
  const text = () => usable[below(usable.length)] as string
  const all = {
    city: text(),
    days: below(1e6) - 5e5,
    exact: below(2) === 0,
    filter: below(2) === 0 ? {} : { by: text(), not: below(2) === 0 },
    kinds: Array.from({ length: below(3) }, text),
    limit: below(100) / 8,
    unit: below(2) === 0 ? 'celsius' : 'kelvin',
  }
  const isThere = ([key, value]: [string, unknown]) =>
    key === 'city' || (below(2) === 0 && (isNested || typeof value !== 'object'))
  return Object.fromEntries(Object.entries(all).filter(isThere))
}

describe('templates of public models', { skip }, () => {
  test('docs/tool-formats.md lists the formats that are found', () => {
    const page = readFileSync(new URL('../../../docs/tool-formats.md', import.meta.url), 'utf8')
    assert.equal(page, formatsPage(templates), 'run: node scripts/chat-templates.ts')
  })

  test('conversations are rendered, or the template gives the reason why not', () => {
    const user = { role: 'user', content: 'Hi' }
    const talks = [
      [user],
      [user, { role: 'assistant', content: 'Hello' }, user],
      [{ role: 'system', content: 'Be' }, user],
    ]
    const refusals: string[] = []
    for (const { name, text } of templates) {
      const { render } = createRendering({ limitMs: 60_000, maxTextLength: 1e6, maxListLength: 1e5 })
      for (const messages of talks) {
        const variables = JSON.stringify({ ...tokens, tools: null, add_generation_prompt: true })
        const rendering = render({ template: text, messages, variables, open: false })
        if (rendering.kind === 'failed') refusals.push(`${name}: ${rendering.why}`)
        else assert.equal(rendering.kind, 'rendered', name)
      }
    }
    assert.deepEqual(refusals, ['google-gemma-2-2b-it: System role not supported'])
  })

  for (const template of templates) {
    const { name, text } = template
    const format = formatOfTemplate(template)
    if (format.proof !== 'proven' || 'own' in format.calls) continue
    const { calls, history } = format
    test(`${name}: the calls that its template writes are accepted and read back`, () => {
      const { render } = createRendering({ limitMs: 60_000, maxTextLength: 1e6, maxListLength: 1e5 })
      const probe = createTurnProbe((messages, variables) => {
        const rendering = render({
          template: text,
          messages,
          variables: JSON.stringify({ ...tokens, ...variables }),
          open: false,
        })
        assert.equal(rendering.kind, 'rendered')
        return rendering.kind === 'rendered' ? rendering.text : ''
      }, names)
      const random = seededRandom(name.length)
      const below = (count: number) => Math.floor(random() * count)
      const follow = followerOf({
        thought: 'over',
        calls: { format: calls, tools, choice: 'required', isParallel: true },
      })
      for (let turn = 0; turn < turns; turn++) {
        const count = calls.gap === undefined ? 1 : 1 + below(3)
        const made = Array.from({ length: count }, () => ({
          name: names[below(names.length)] as string,
          given: randomArguments(below, calls, !format.note?.includes('are JSON')),
        }))
        const written = probe.callsOf(
          made.map(({ name: called, given }, index) => ({
            id: `call${turn % 10}${index}abc`,
            name: called,
            arguments: history?.arguments === 'text' ? JSON.stringify(given) : given,
          })),
        )
        assert.ok(written !== undefined)
        const { length, isComplete } = follow(written.trimEnd())
        assert.equal(written.slice(0, length), written.trimEnd())
        assert.equal(isComplete, true, written)
        const pieces = [...written]
        const read = told(partsOf(pieces, { format: calls, tools }))
        assert.equal(read.content.trim(), '')
        assert.deepEqual(
          read.calls.map((call) => ({ name: call.name, given: JSON.parse(call.arguments) })),
          made,
        )
      }
    })
  }
})
