import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../support/app.ts'
import { asking, assertRefused, chatUrl } from '../support/chat.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'

const hostile = {
  'loops without end':
    '{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}',
  'a list of many million': '{% for a in range(100000000) %}{% endfor %}',
  'a text that doubles':
    '{% set ns = namespace(x="aaaa") %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}',
  'an output without end':
    '{% for a in range(99999) %}{{ messages | tojson }}{{ "y" | indent(9999, true) }}{% endfor %}',
  'a macro that calls itself': '{% macro f(f) %}{{ f(f) }}{% endmacro %}{{ f(f) }}',
  'a deep expression': `{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`,
  'the prototype of a list': '{{ messages.__proto__.constructor("return process")().exit() }}',
}

test('hostile templates get a 400, and the server keeps serving', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  const answers = await Promise.all(
    Object.entries(hostile).map(
      async ([what, chat_template]) => [what, await post(chatUrl, asking({ chat_template }))] as const,
    ),
  )
  for (const [what, answer] of answers) {
    assert.equal(answer.status, 400, what)
    assert.match(answer.json.error.code, /^template_(too_costly|failed)$/, what)
    assert.equal(answer.json.error.param, 'chat_template')
  }
  assert.equal((await post(chatUrl, asking())).status, 200)
})

test('a template that exhausts memory ends only its own process', async (t) => {
  const { post } = await openApp(t, { backend: scriptedBackend() })
  const chat_template =
    '{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = ns.x + [range(99999)] %}{% endfor %}'
  const before = await post(chatUrl, asking())
  const [full, other] = await Promise.all([
    post(chatUrl, asking({ chat_template })),
    post(chatUrl, asking({ chat_template: 'other' })),
  ])
  assertRefused(full, { status: 400, code: 'template_too_costly', param: 'chat_template' })
  assert.deepEqual([before.status, other.status, (await post(chatUrl, asking())).status], [200, 200, 200])
})
