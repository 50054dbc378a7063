import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../conversation.ts'
import { strftime } from '../template/bounded-template.ts'
import { createRendering } from '../template/rendering.ts'

const bounds = { limitMs: 10_000, maxTextLength: 10_000, maxListLength: 10_000 }

const user = (content: string | string[]): Message => ({ role: 'user', content })

function rendered(
  template: string,
  messages: Message[],
  { open = false, variables = {} }: { open?: boolean; variables?: Record<string, unknown> } = {},
) {
  const rendering = createRendering(bounds).render({
    template,
    messages,
    variables: JSON.stringify(variables),
    open,
  })
  return rendering.kind === 'rendered' ? rendering.text : rendering
}

const plain = '{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}'
const trimming = '{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}</s>{% endfor %}'

test('parts are one text where the template writes the content directly', () => {
  assert.equal(rendered(plain, [user('a'), user(['b', 'c'])]), '[user]a[user]b\nc')
})

const lists = {
  'a loop over the content':
    '{% for m in messages %}{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endfor %}',
  'an index':
    "{% for m in messages %}{% for p in m['content'] if p.type == 'text' %}<{{ p.text }}>{% endfor %}{% endfor %}",
  'a variable':
    '{% for m in messages %}{% set body = m.content %}{% for p in body %}<{{ p.text }}>{% endfor %}{% endfor %}',
  'a macro':
    '{% macro show(content) %}{% for p in content %}<{{ p.text }}>{% endfor %}{% endmacro %}{% for m in messages %}{{ show(m.content) }}{% endfor %}',
}
for (const [how, template] of Object.entries(lists)) {
  test(`parts are a list where the template iterates over them: ${how}`, () => {
    assert.equal(rendered(template, [user('a'), user(['b', 'c'])]), '<a><b><c>')
  })
}

test('a text stays a text where the template checks for one', () => {
  const template =
    '{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endif %}{% endfor %}'
  assert.equal(rendered(template, [user('a'), user(['b', 'c'])]), 'a<b><c>')
})

test('developer is a system message unless the template knows it', () => {
  const developer = { role: 'developer', content: 'x' }
  assert.equal(rendered(plain, [developer]), '[system]x')
  assert.equal(rendered(`${plain}{# developer #}`, [developer]), '[developer]x')
})

const contents = ['', ' ', 'x', ' x ', 'a\n', 'user', '[user]', '</s>', 'twice twice', '{{ 1 + 1 }}', '🙂']

for (const content of contents) {
  test(`an open last message ends with its content: ${JSON.stringify(content)}`, () => {
    const messages = [user('before'), { role: 'assistant', content }]
    assert.equal(rendered(plain, messages, { open: true }), `[user]before[assistant]${content}`)
    assert.equal(rendered(trimming, messages, { open: true }), `[user]before</s>[assistant]${content.trim()}`)
    const parts = [user('before'), { role: 'assistant', content: ['first', content] }]
    assert.equal(rendered(plain, parts, { open: true }), `[user]before[assistant]first\n${content}`)
  })
}

test('an open last message must be shown', () => {
  assert.deepEqual(rendered('{{ messages[0].content }}', [user('a'), user('b')], { open: true }), {
    kind: 'failed',
    why: 'it does not show the content of the last message, which is to be continued',
  })
})

test('an error of the template is the reason of the refusal', () => {
  for (const [template, why] of [
    ['{{ raise_exception("Roles must alternate") }}', /^Roles must alternate$/],
    ['{% if %}', /./],
    ['{{ messages | nonsense }}', /nonsense/],
    ['{{ nothing() }}', /./],
    ['{% break %}', /outside a loop/],
    ['{{ raise_exception() }}', /without a message/],
    ['{{ raise_exception("No.") }}', /^No$/],
    ['{{', /^it ends where more is expected$/],
    ['{% filter upper %}', /^it ends where more is expected$/],
  ] as const) {
    const result = rendered(template, [user('a')])
    assert.ok(typeof result !== 'string' && result.kind === 'failed', template)
    assert.match(result.why, why)
  }
})

test('texts, lists, ranges and depth are bounded', () => {
  for (const template of [
    '{{ "a" | indent(100000, true) }}',
    '{% set ns = namespace(x="aa") %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}',
    '{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}',
    '{{ range(100001) }}',
    '{{ range(0, 10 ** 300) }}',
    '{{ range(0, 100001, 0.5) }}',
    '{% for i in range(9000) %}{{ i }}{% endfor %}',
    '{% macro f(f) %}{{ f(f) }}{% endmacro %}{{ f(f) }}',
    `{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`,
    '{{ {"a": {"b": 1}} | tojson(indent=400000000) }}',
  ]) {
    const result = rendered(template, [user('a')])
    assert.ok(typeof result !== 'string', `${template.slice(0, 80)} was rendered`)
    assert.notEqual(result.kind, 'rendered')
  }
})

test('endless loops are stopped', () => {
  const { render } = createRendering({ ...bounds, limitMs: 20 })
  const template =
    '{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}'
  assert.deepEqual(render({ template, messages: [user('a')], variables: '{}', open: false }), {
    kind: 'costly',
    limit: '20 ms',
  })
})

test('a template has no access to JavaScript', () => {
  for (const template of [
    '{{ messages.constructor("return process")() }}',
    '{{ raise_exception.constructor("return process")() }}',
    '{{ "".constructor.constructor("return process")() }}',
    '{{ messages.__proto__.x() }}',
    '{{ __proto__.x() }}',
    '{{ process.exit() }}',
    '{{ globalThis.process.exit() }}',
    '{{ range.call() }}',
    '{% set messages.__proto__ = 1 %}',
  ]) {
    const result = rendered(template, [user('a')])
    assert.ok(typeof result !== 'string' && result.kind === 'failed', template)
  }
  const polluting = '{% set ns = namespace() %}{% set ns.__proto__ = "x" %}{{ ns.__proto__ }}{{ {}.x }}'
  assert.equal(rendered(polluting, [user('a')]), 'x')
  assert.equal(({} as Record<string, unknown>).x, undefined)
})

test('variables are available by name, also by names that the library defines', () => {
  const variables = { a: { b: 1.5 }, none: 'mine', range: 'mine', namespace: 'ignored', messages: 'ignored' }
  assert.equal(
    rendered('{{ a.b }} {{ none }} {{ range }} {{ messages[0].content }}', [user('x')], { variables }),
    '1.5 mine mine x',
  )
})

test('range counts as in Python', () => {
  const template =
    '{% for i in range(3) %}{{ i }}{% endfor %} {% for i in range(5, 1, -2) %}{{ i }}{% endfor %}'
  assert.equal(rendered(template, []), '012 53')
})

test('many templates are rendered in turn, more than are cached', () => {
  const { render } = createRendering(bounds)
  for (let i = 0; i < 100; i++) {
    const template = `${i % 20} {{ messages[0].content }}`
    const result = render({ template, messages: [user(`m${i}`)], variables: '{}', open: false })
    assert.deepEqual(result, { kind: 'rendered', text: `${i % 20} m${i}` })
  }
})

test('dates are written as in Python', () => {
  const date = new Date(2026, 0, 5, 13, 4, 9)
  assert.equal(strftime(date, '%Y-%m-%d %H:%M:%S'), '2026-01-05 13:04:09')
  assert.equal(
    strftime(date, '%d %b %Y, %A %a %B, %I:%M %p, %y'),
    '05 Jan 2026, Monday Mon January, 01:04 PM, 26',
  )
  assert.equal(strftime(date, '100%% %q'), '100% %q')
  assert.equal(strftime(new Date(2026, 0, 5, 0, 0), '%I %p'), '12 AM')
})

const pythonic: [template: string, text: string][] = [
  ['{% for a, b in [(1, 2), (3, 4)] %}{{ a }}{{ b }};{% endfor %}', '12;34;'],
  ['{{ (1, 2) is iterable }}{{ {} is iterable }}', 'TrueTrue'],
  ['{{ {0: "a", 16: "b"}[16] }}', 'b'],
  ['{% for k, v in {16: "b", 2: "a"} | dictsort %}{{ k + 1 }}{{ v }}{% endfor %}', '3a17b'],
  ['[{{ nothing | trim }}{{ nothing | length }}{{ nothing.a[nothing] }}{{ "a" + nothing }}]', '[0a]'],
  ['{% for x in nothing %}x{% endfor %}{% for x in none %}x{% endfor %}{{ none | list }}', '[]'],
  ['{% set l = [1, 2] %}{% set _ = l.append(3) %}{{ l.pop(0) }}{{ l.pop() }}{{ l }}', '13[2]'],
  ['{% set d = {"a": 1} %}{{ d.pop("a") }}{{ d.get("a", 2) }}{{ d | length }}', '120'],
  ['{{ "<{}|{b}>{{}}".format(1, b="x") }}', '<1|x>{}'],
  ['{{ "xaxbx".strip("x") }}{{ "  a".lstrip("\\n") }}{{ "a-b".removeprefix("a") }}', 'axb  a-b'],
  ['{{ "-a-" | trim("-") }}', 'a'],
  ['{{ [3, 1, 2] | min }}{{ [3, 1, 2] | max }}{{ [1, 2] | sum }}', '133'],
  [`{{ '{"a": [1]}' | from_json | tojson }}`, '{"a": [1]}'],
  ['{{ {"a": ["x", true]} | string }}', "{'a': ['x', True]}"],
  ['{{ ["a", "", "b"] | select | join("-") }}{{ ["a ", "b"] | map("trim") | join }}', 'a-bab'],
]
for (const [template, text] of pythonic) {
  test(`this renders as in Python and Jinja2: ${template}`, () => {
    assert.equal(rendered(template, []), text)
  })
}
