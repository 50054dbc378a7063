import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JsonText } from '../../src/domain/json/text.ts'
import { callValues, invalidFieldReason } from '../../src/operations/scorers/call-values.ts'
import { fieldsOfTemplate, parseTemplate } from '../../src/operations/scorers/template.ts'

const partsOf = (template: string) => {
  const parsed = parseTemplate(template)
  return 'segments' in parsed ? parsed.segments : parsed.why
}

test('fields are in braces, and a doubled brace is a single one', () => {
  assert.deepEqual(partsOf('Is {output.text} right for { inputs.q }?'), [
    { text: 'Is ' },
    { field: 'output.text' },
    { text: ' right for ' },
    { field: 'inputs.q' },
    { text: '?' },
  ])
  assert.deepEqual(partsOf('{{"score": {{}} }}'), [{ text: '{"score": {} }' }])
  assert.deepEqual(fieldsOfTemplate([{ field: 'a' }, { text: 'x' }, { field: 'a' }]), ['a'])
})

test('unmatched and empty braces are refused with their position', () => {
  assert.equal(partsOf('Rate {output'), 'the "{" at character 6, "{output", has no partner')
  assert.equal(partsOf('a } b'), 'the "}" at character 3, "} b", has no partner')
  assert.equal(
    partsOf('{"score": {output}}'),
    'the "{" at character 1, "{\\"score\\": {output}}", has no partner',
  )
  assert.equal(partsOf('{ }'), 'the braces at character 1 contain no name')
})

test('any text can be written by doubling its braces', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('{', '}', 'a', '\n', '😀') }), (text) => {
      const parts = partsOf(text.replaceAll(/[{}]/g, '$&$&'))
      assert.deepEqual(parts, text === '' ? [] : [{ text }])
    }),
  )
})

test('the values of a call are found by paths and names, and numbers keep their digits', () => {
  const call = {
    op_name: 'answer',
    exception: null,
    inputs: new JsonText('{"q":"why?","n":12345678901234567890,"list":[{"a.b":true}],"none":null}'),
    output: new JsonText('"yes"'),
  }
  const { text, json } = callValues(call, { question: 'inputs.q', output: 'inputs.n' })
  assert.equal(text('question'), 'why?')
  assert.equal(json('question'), '"why?"')
  assert.equal(text('inputs.n'), '12345678901234567890')
  assert.equal(text('inputs.list.0.a\\.b'), 'true')
  assert.equal(text('op_name'), 'answer')
  // A name of the scorer takes precedence over a field of the call.
  assert.equal(text('output'), '12345678901234567890')
  for (const missing of [
    'inputs.none',
    'inputs.other',
    'exception',
    'summary.usage',
    'op_name.x',
    'toString',
  ]) {
    assert.equal(text(missing), undefined, missing)
  }
})

test('what was said is a value of a call, whichever convention recorded it', () => {
  const value = (json: unknown) => new JsonText(JSON.stringify(json))
  const question = { role: 'user', parts: [{ type: 'text', content: 'why?' }] }
  const answer = { role: 'assistant', content: [{ type: 'text', text: 'so' }] }
  const { text } = callValues(
    {
      inputs: value({ system_instructions: [{ type: 'text', content: 'be brief' }], messages: [question] }),
      output: value(answer),
    },
    { a: 'conversation.answer' },
  )
  assert.equal(text('conversation.question'), 'why?')
  assert.equal(text('a'), 'so')
  assert.equal(text('conversation'), 'system: be brief\n\nuser: why?\n\nassistant: so')
  assert.equal(callValues({ inputs: value({ a: 1 }), output: value(1) }, {}).text('conversation'), undefined)
  assert.equal(invalidFieldReason('conversation.answer'), undefined)
  assert.match(invalidFieldReason('conversation.system')?.why ?? '', /is not a field/)
})

test('a path that leads to no field of a call is reported', () => {
  for (const path of ['inputs', 'output.choices.0.message.content', 'op_name', 'summary.weave.status']) {
    assert.equal(invalidFieldReason(path), undefined, path)
  }
  for (const path of ['outputs.text', 'op_name.x', 'question', '__proto__', 'feedback.[x].payload']) {
    assert.match(invalidFieldReason(path)?.why ?? '', /is not a field/, path)
  }
})
