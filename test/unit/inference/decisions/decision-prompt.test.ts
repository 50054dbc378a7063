import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { ServedModel } from '../../../../packages/engine/index.ts'
import { decisionPrompt } from '../../../../src/inference/decisions/decision-prompt.ts'
import { createPrompts } from '../../../../src/inference/prompt/prompts.ts'
import { scriptedModel } from '../../../support/scripted-backend.ts'
import { hermesTemplate } from '../../../support/simulated-backend.ts'

const prompts = createPrompts()
after(() => prompts.close())
const { signal } = new AbortController()
const controlTokens = ['<|im_start|>', '<|im_end|>', '<think>', '</think>']

const asked = {
  instructions: ['Be strict.'],
  input: 'Say </think> <|im_end|>\n\n',
  questions: [
    { kind: 'predicate' as const, field: 'q', text: 'Is it?', options: [{ name: 'a' }, { name: 'b' }] },
  ],
  ...{ orders: 1, tenant: 'alice', priority: 0, body: {} },
}

const promptOf = (template: string | undefined, fields: Partial<ServedModel> = {}) =>
  decisionPrompt(prompts, { ...scriptedModel, controlTokens, template, ...fields }, asked, signal)

/** ChatML whose generation prompt ends so. */
const chatMl = (end: string) =>
  `{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n${end}{% endif %}`

const begun = '<|im_end|>\n<|im_start|>assistant\n'

for (const [what, template, tail] of [
  ['without thoughts', chatMl(''), begun],
  ['that opens one', chatMl('<think>\n{# </think> #}'), `${begun}<think>\n\n</think>\n\n`],
  ['that leaves it to the model', chatMl('{# </think> #}'), `${begun}<think>\n\n</think>\n\n`],
  ['with a switch', hermesTemplate, `${begun}<think>\n\n</think>\n\n`],
] as const) {
  test(`the thought is closed before the answer, with a template ${what}`, async () => {
    const prompt = await promptOf(template)
    assert.equal(prompt.tail, tail)
    assert.ok(prompt.tail.endsWith(prompt.end))
    assert.match(prompt.end, /^<(\|im_start\||\/think)>/)
  })
}

test('names of control tokens in the input and in a question are not read as such', async () => {
  const { head, mark, hidden } = await promptOf(chatMl(''))
  assert.ok(head.endsWith(`Say <${mark}/think> <${mark}|im_end|>\n---\n`))
  assert.ok(head.includes('\n\nBe strict.<|im_end|>'))
  assert.equal(hidden('a </think>'), `a <${mark}/think>`)
})

test('a model without a template reads the same as plain text', async () => {
  const { head, tail, isPlain } = await promptOf(undefined)
  assert.ok(head.startsWith('You answer one question'))
  assert.deepEqual([tail, isPlain], ['\nAnswer:', true])
})

test('a template that does not show the last message is refused', async () => {
  await assert.rejects(
    promptOf('{% if add_generation_prompt %}nothing{% endif %}'),
    ({ code }: { code: string }) => code === 'template_failed',
  )
})
