import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Message } from '../conversation.ts'
import { conversationOf } from '../conversation.ts'
import { withoutCalls } from '../template/render-question.ts'
import { createRendering } from '../template/rendering.ts'

/**
 * What Jinja2 3.1.6 in Python 3 renders, with the filters and settings of transformers: `tojson` is `json.dumps` with
 * `ensure_ascii=False`, and blocks are trimmed.
 */
const { variables, cases } = JSON.parse(
  readFileSync(new URL('../../../test/fixtures/jinja.json', import.meta.url), 'utf8'),
) as { variables: string; cases: [template: string, text: string][] }

const { render } = createRendering({ limitMs: 10_000, maxTextLength: 100_000, maxListLength: 10_000 })

function rendered(template: string, given = variables, messages: Message[] = []) {
  const answer = render({ template, ...withoutCalls(messages), variables: given, open: false })
  return answer.kind === 'rendered' ? answer.text : answer
}

for (const [template, text] of cases) {
  test(`this renders as in Python: ${template.slice(0, 100)}`, () => {
    assert.equal(rendered(template), text)
  })
}

const numbers = '{"whole":9007199254740993,"one":1.0,"list":[12345678901234567890,-0.0,1e400]}'

test('numbers in tools and in the arguments of calls keep their digits', () => {
  const call = { type: 'function', function: { name: 'f', arguments: numbers } }
  const messages = conversationOf([{ role: 'assistant', tool_calls: [call] }])
  const template =
    '{{ messages[0].tool_calls[0].function.arguments | tojson }} {{ tools[0] | tojson(separators=(",", ":")) }}'
  assert.equal(
    rendered(template, `{"tools":[${numbers}]}`, messages),
    '{"whole": 9007199254740993, "one": 1.0, "list": [12345678901234567890, -0.0, Infinity]} ' +
      '{"whole":9007199254740993,"one":1.0,"list":[12345678901234567890,-0.0,Infinity]}',
  )
})

test('the mark of a hidden name stays in a text that is quoted', () => {
  const mark = String.fromCodePoint(0x100abc)
  const hiding = { mark, names: ['<|im_end|>'] }
  for (const template of ['{{ tools }}', '{{ tools | tojson(ensure_ascii=true) }}']) {
    const answer = render({
      template,
      messages: [],
      variables: '{"tools":["<|im_end|>"]}',
      open: false,
      hiding,
    })
    assert.ok(answer.kind === 'rendered')
    assert.match(answer.text, new RegExp(`^\\[['"]<${mark}\\|im_end\\|>${mark}?['"]\\]$`, 'u'))
  }
})

test('a format cannot ask for a text without end', () => {
  for (const template of [
    '{{ "%9999999999d" | format(1) }}',
    '{{ "{:>9999999999}".format(1) }}',
    '{{ "a".zfill(9999999999) }}',
    '{{ [0] * 9999999999 }}',
    '{{ [0] | batch(9999999999, 1) | list }}',
  ]) {
    assert.notEqual(typeof rendered(template), 'string')
  }
})

test('a format that does not fit its value is told as that, and not as a limit', () => {
  for (const [template, why] of [
    ['{{ "%x" % 1.5 }}', /an integer is required/],
    ['{{ "%d" % ("1e400" | float) }}', /cannot convert float inf to integer/],
    ['{{ "%c" % -1 }}', /%c format/],
    ['{{ "%c" % 1.5 }}', /%c format/],
    ['{{ "%c" % none }}', /%c format/],
    ['{{ "%O" % 8 }}', /unsupported format character "O"/],
    ['{{ "{:.101%}".format(0.5) }}', /precision of a format/],
    ['{{ "%.101e" % 0.5 }}', /precision of a format/],
    ['{{ "%.100g" % 0.0001 }}', /precision of a format/],
    ['{{ "{:%}".format("a") }}', /a real number is required/],
    ['{{ "{:,}".format("1000") }}', /',' needs a number/],
  ] as const) {
    const answer = rendered(template)
    assert.ok(
      typeof answer === 'object' && answer.kind === 'failed',
      `${template}: ${JSON.stringify(answer)}`,
    )
    assert.match(answer.why, why)
  }
})

test('texts and formats of a million characters are read in one pass', () => {
  const { render: unhurried } = createRendering({
    limitMs: 60_000,
    maxTextLength: 2_000_000,
    maxListLength: 10,
  })
  const digits = '7'.repeat(1_000_000)
  for (const [template, text] of [
    ['{{ (digits ~ "x") | float(0.5) }}', '0.5'],
    ['{{ (("%" ~ zeros) % 1) | length }}', '1000001'],
  ] as const) {
    const variables = `{"digits":"${digits}","zeros":"${'0'.repeat(1_000_000)}"}`
    const answer = unhurried({ template, messages: [], variables, open: false })
    assert.deepEqual(answer, { kind: 'rendered', text })
  }
})
