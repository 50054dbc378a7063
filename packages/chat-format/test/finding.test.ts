import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { hermes } from '../call-format.ts'
import { thoughtStartOf } from '../reasoning/continued-turn.ts'
import { createRendering } from '../template/rendering.ts'

const bounds = { limitMs: 10_000, maxTextLength: 1_000_000, maxListLength: 10_000 }
const tokens = { bos: '<s>', eos: '</s>' }

function found(template: string) {
  const answer = createRendering(bounds).find({ template, tokens })
  if (answer.kind !== 'found') assert.fail(JSON.stringify(answer))
  return answer.format
}

/** A template with the turns of ChatML. `calls` writes the calls of the message `m`. */
const chatml = (calls: string, opening = '') =>
  `{% for t in tools %}{{ t | tojson }}\n{% endfor %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}${calls}<|im_end|>\n{% endfor %}` +
  `{% if add_generation_prompt %}<|im_start|>assistant\n${opening}{% endif %}`

const each = (call: string) => `{% for c in m.tool_calls %}{% set f = c.function %}${call}{% endfor %}`

test('the format of Hermes is found and proven', () => {
  const format = found(
    chatml(
      each(
        '{{ "\\n" }}<tool_call>\n{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}\n</tool_call>',
      ),
    ),
  )
  assert.deepEqual(format, {
    calls: hermes,
    proof: 'proven',
    history: { showsTools: true, arguments: 'object', systemMessages: 'many' },
  })
})

test('the number and the id of a call are recognised as holes', () => {
  const numbered = found(
    chatml(each('<|call|>functions.{{ f.name }}:{{ loop.index0 }}<|args|>{{ f.arguments | tojson }}<|end|>')),
  )
  assert.equal(numbered.proof, 'proven')
  assert.ok('mid' in numbered.calls)
  assert.deepEqual(numbered.calls.mid, [':', { hole: 'counter' }, '<|args|>'])
  const named = found(
    chatml(each('<|call|>{{ c.id }}<|name|>{{ f.name }}<|args|>{{ f.arguments | tojson }}<|end|>')),
  )
  assert.equal(named.proof, 'proven')
  assert.ok('open' in named.calls)
  assert.deepEqual(named.calls.open, ['<|call|>', { hole: 'id' }, '<|name|>'])
  assert.deepEqual(named.calls.gap, ['<|end|><|call|>', { hole: 'id', of: 'next' }, '<|name|>'])
})

test('a template that raises for a second call has one call per turn', () => {
  const format = found(
    chatml(
      `{% if m.tool_calls %}{% if m.tool_calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}${each('{"name": "{{ f.name }}", "parameters": {{ f.arguments | tojson }}}')}{% endif %}`,
    ),
  )
  assert.equal(format.proof, 'proven')
  assert.ok('open' in format.calls)
  assert.equal(format.calls.gap, undefined)
  assert.equal(format.calls.isAnchored, true)
})

test('Python lists of calls are found, and assumed where the template lists tools as LFM2 does', () => {
  const keywords =
    '{% for k, v in f.arguments.items() %}{{ k }}={{ v | tojson }}{% if not loop.last %}, {% endif %}{% endfor %}'
  const list = (open: string, close: string) =>
    chatml(
      `{% if m.tool_calls %}${open}${each(`{{ f.name }}(${keywords}){% if not loop.last %}, {% endif %}`)}${close}{% endif %}`,
    )
  for (const [open, close, isAnchored] of [
    ['[', ']', true],
    ['<|python_start|>[', ']<|python_end|>', false],
  ] as const) {
    const format = found(list(open, close))
    assert.equal(format.proof, 'proven')
    assert.ok('open' in format.calls)
    assert.deepEqual(format.calls.arguments, { kind: 'python', words: 'python' })
    assert.deepEqual([format.calls.open, format.calls.isAnchored], [[open], isAnchored])
  }
  const known = found(`{% if tools %}List of tools: [{{ tools[0] | tojson }}]{% endif %}${chatml('')}`)
  assert.equal(known.proof, 'own')
  assert.ok('open' in known.calls)
  assert.deepEqual(known.calls.open, ['<|tool_call_start|>['])
  assert.equal(known.history?.showsCalls, false)
})

test('words between control tokens after an answer are found', () => {
  const template = chatml('<|close|>answer<|sep|><|close|>message<|sep|>')
  assert.deepEqual(found(template).closings, ['<|close|>answer<|sep|>', '<|close|>message<|sep|>'])
  assert.equal(found(chatml('')).closings, undefined)
})

test('ids have nine characters where the template raises for others', () => {
  const format = found(
    chatml(
      each(
        "{% if c.id | length != 9 %}{{ raise_exception('nine') }}{% endif %}[CALL]{{ f.name }}[ID]{{ c.id }}[ARGS]{{ f.arguments | tojson }}",
      ),
    ),
  )
  assert.equal(format.proof, 'proven')
  assert.ok('ids' in format.calls)
  assert.equal(format.calls.ids, 'nine')
})

test('a template that shows calls not at all or unreadably gets the generic format', () => {
  for (const calls of [
    '',
    each('{{ f.name }} was called'),
    each('<c>{{ f.arguments | tojson }} {{ f.name }}</c>'),
  ]) {
    const format = found(chatml(calls))
    assert.equal(format.proof, 'generic')
    assert.deepEqual(format.calls, hermes)
    assert.notEqual(format.note, undefined)
  }
})

test('a format whose calls are not read back as written is not proven', () => {
  const format = found(
    chatml(
      each(
        '<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson | replace("\\n", " ") | lower }}}</call>',
      ),
    ),
  )
  assert.equal(format.proof, 'generic')
})

test('markers of thoughts are found in the history, and their switches by trying them', () => {
  const thinking = found(
    chatml(
      '',
      '{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}',
    ).replace(
      '{{ m.content }}',
      '{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content }}',
    ),
  )
  assert.deepEqual(thinking.reasoning, {
    open: '<think>',
    close: '</think>',
    switches: { on: { enable_thinking: true }, off: { enable_thinking: false } },
    isDefault: true,
  })
  const hidden = found(chatml('', '{% if thinking %}<think>\n{% else %}</think>{% endif %}'))
  assert.deepEqual(hidden.reasoning, {
    open: '<think>',
    close: '</think>',
    switches: { on: { thinking: true }, off: { thinking: false } },
    isDefault: false,
  })
  assert.equal(found(chatml('')).reasoning, undefined)
})

test('a template that mentions thinking only on request has it off by default', async () => {
  const template = await readFile(
    new URL('../../../models/builtin/make/template.jinja', import.meta.url),
    'utf8',
  )
  const { reasoning, calls, proof } = found(template)
  assert.deepEqual(reasoning, {
    open: '<think>',
    close: '</think>',
    switches: { on: { enable_thinking: true }, off: { enable_thinking: false } },
    isDefault: false,
  })
  assert.deepEqual([proof, calls], ['proven', hermes])
})

test('the end of a prompt tells whether a thought is open, over or optional', () => {
  const marks = { open: '<think>', close: '</think>' }
  assert.equal(thoughtStartOf(marks, 'assistant\n<think>\n'), 'open')
  assert.equal(thoughtStartOf(marks, 'assistant\n<think>\n\n</think>\n\n'), 'over')
  assert.equal(thoughtStartOf(marks, 'assistant\n'), 'optional')
  assert.equal(thoughtStartOf(undefined, 'assistant\n'), 'over')
})

test('a template that raises for every conversation gets the generic format', () => {
  const answer = createRendering(bounds).find({ template: "{{ raise_exception('no') }}", tokens })
  assert.equal(answer.kind === 'found' && answer.format.proof, 'generic')
})

test('a template that shows calls but no tools is proven, with a note of that', () => {
  const calls = each('<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}</call>')
  const silent = chatml(calls).replace('{{ t | tojson }}', '')
  assert.equal(found(silent).proof, 'proven')
  assert.equal(found(silent).history?.showsTools, false)
})

test('a template that shows no results of tools gets the generic format', () => {
  const calls = each('<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}</call>')
  const raising = chatml(`{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}${calls}`)
  assert.equal(found(chatml(calls)).proof, 'proven')
  assert.equal(found(raising).proof, 'generic')
})

test('the number of accepted system messages follows from when the template raises', () => {
  const raising = (condition: string) =>
    found(chatml(`{% if m.role == 'system' and ${condition} %}{{ raise_exception('no') }}{% endif %}`))
      .history
  assert.equal(raising('not loop.first')?.systemMessages, 'one')
  assert.equal(raising('true')?.systemMessages, 'none')
  assert.equal(raising('false')?.systemMessages, 'many')
})
