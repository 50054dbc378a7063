import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { askWholeAndStreamed } from '../../support/answer-turns.ts'
import { openApp } from '../../support/app.ts'
import { asking, assertRefused, chatUrl } from '../../support/chat.ts'
import { type ModelTexts, simulatedBackend } from '../../support/simulated-backend.ts'
import { smallVocabulary } from '../../support/small-vocabulary.ts'
import { callText, clock, weather } from '../../support/tools.ts'

const backend = simulatedBackend({ after }, '')
const app = await openApp({ after }, { backend })
const { post } = app

const thought = 'Paris is in France.'
const thinking = { chat_template_kwargs: { enable_thinking: true } }

async function said(say: ModelTexts, fields: Record<string, unknown> = thinking) {
  backend.say = say
  return askWholeAndStreamed(app, fields)
}

const answered = `<think>\n${thought}\n</think>\n\nParis`

test('a thought is separated from the answer, and counted', async () => {
  const { turns, usage } = await said(answered)
  assert.deepEqual([turns[0]?.reasoning.trim(), turns[0]?.content], [thought, 'Paris'])
  assert.equal(turns[0]?.finish, 'stop')
  const thoughts = usage.completion_tokens_details.reasoning_tokens
  assert.ok(thoughts >= thought.length / 4 && thoughts < usage.completion_tokens)
})

test('an answer without a thought has none, whatever was requested', async () => {
  for (const fields of [thinking, { reasoning_effort: 'high' }, {}]) {
    const { turns, usage } = await said('Paris', fields)
    assert.deepEqual([turns[0]?.reasoning, turns[0]?.content], ['', 'Paris'])
    assert.equal(usage.completion_tokens_details, undefined)
  }
})

test('include_reasoning false leaves out the thought with its tokens, but counts them', async () => {
  const asked = { ...thinking, logprobs: true, top_logprobs: 1, return_token_ids: true }
  const shown = await said(answered, asked)
  const hidden = await said(answered, { ...asked, include_reasoning: false })
  assert.deepEqual([hidden.turns[0]?.reasoning, hidden.turns[0]?.content], ['', 'Paris'])
  const thoughts = shown.usage.completion_tokens_details.reasoning_tokens
  assert.equal(hidden.usage.completion_tokens_details.reasoning_tokens, thoughts)
  assert.equal(hidden.usage.completion_tokens, shown.usage.completion_tokens)
  assert.deepEqual(hidden.turns[0]?.tokens, shown.turns[0]?.tokens?.slice(thoughts))
  assert.deepEqual(hidden.turns[0]?.logprobs, shown.turns[0]?.logprobs?.slice(thoughts))
  assert.ok(!hidden.whole.text.includes('France'))
  assert.ok(!JSON.stringify(hidden.chunks).includes('France'))
})

test('constrained text is content, even where it is a marker of thoughts', async (t) => {
  const vocabulary = smallVocabulary({ words: ['<think>', '</think>', 'is', ' the'] })
  const backend = simulatedBackend(t, answered, { vocabulary })
  const app = await openApp(t, { backend })
  const { turns } = await askWholeAndStreamed(app, { ...thinking, structured_outputs: { regex: 'P[a-z]+' } })
  assert.deepEqual([turns[0]?.reasoning.trim(), turns[0]?.content], [thought, 'Paris'])
  for (const text of ['<think>', '</think>', ' <think>no</think>']) {
    backend.say = text
    const { turns, usage } = await askWholeAndStreamed(app, {
      structured_outputs: { choice: [text, 'another'] },
      reasoning_effort: 'none',
    })
    assert.deepEqual([turns[0]?.reasoning, turns[0]?.content, turns[0]?.finish], ['', text, 'stop'])
    assert.equal(usage.completion_tokens_details, undefined)
  }
})

test('a thought that is cut off is not content', async (t) => {
  // The markers are single tokens: with several, the first could begin any text.
  const vocabulary = smallVocabulary({ words: ['<think>', '</think>', 'is', ' the'] })
  const backend = simulatedBackend(t, answered, { vocabulary })
  const app = await openApp(t, { backend })
  const said = (fields: Record<string, unknown>) => askWholeAndStreamed(app, fields)
  const { usage } = await said(thinking)
  const kinds = new Set<string>()
  for (let max_tokens = 1; max_tokens <= usage.completion_tokens; max_tokens++) {
    const { turns } = await said({ ...thinking, max_tokens })
    const { reasoning = '', content = '', finish } = turns[0] ?? {}
    assert.ok(thought.startsWith(reasoning.trim()), reasoning)
    assert.ok('Paris'.startsWith(content), content)
    assert.equal(finish, max_tokens === usage.completion_tokens ? 'stop' : 'length')
    kinds.add(content ? 'content' : reasoning ? 'reasoning' : 'nothing')
    const hidden = await said({ ...thinking, max_tokens, include_reasoning: false })
    assert.deepEqual([hidden.turns[0]?.reasoning, hidden.turns[0]?.content], ['', content])
  }
  assert.deepEqual([...kinds].sort(), ['content', 'nothing', 'reasoning'])
})

test('a thought may precede a required call', async () => {
  const tools = [weather, clock]
  for (const tool_choice of ['auto', 'required', { type: 'function', function: { name: 'now' } }]) {
    const text = `<think>\n${thought}\n</think>\n\n${callText('now', '{}')}`
    const { turns } = await said(text, { ...thinking, tools, tool_choice })
    assert.equal(turns[0]?.reasoning.trim(), thought)
    assert.deepEqual([turns[0]?.content, turns[0]?.calls.length], ['', 1])
    const hidden = await said(text, { ...thinking, tools, tool_choice, include_reasoning: false })
    assert.deepEqual([hidden.turns[0]?.reasoning, hidden.turns[0]?.calls.length], ['', 1])
  }
})

test('a thought is unconstrained, and the text after it must fit', async () => {
  const fields = { ...thinking, structured_outputs: { choice: ['Paris', 'Rome'] } }
  const { turns } = await said(answered, fields)
  assert.deepEqual([turns[0]?.reasoning.trim(), turns[0]?.content], [thought, 'Paris'])
  backend.say = answered.replace(/Paris$/, 'Bonn')
  assert.equal((await post(chatUrl, asking(fields))).status, 500)
  assert.match(backend.failures.splice(0).join(), /"B" after/)
})

test('thinking_token_budget ends the thought, and the answer continues', async () => {
  const free = await said(answered)
  const thoughts = free.usage.completion_tokens_details.reasoning_tokens
  for (const budget of [0, 5]) {
    const { turns, usage } = await said(['<think>\n', thought, '\n</think>\n\n', 'Paris'], {
      ...thinking,
      thinking_token_budget: budget,
    })
    assert.ok((turns[0]?.reasoning ?? '').length < thought.length)
    assert.ok(turns[0]?.content.endsWith('Paris'), turns[0]?.content)
    assert.ok(usage.completion_tokens_details.reasoning_tokens < thoughts)
  }
})

test('an unknown effort is refused and named', async () => {
  const answer = await post(chatUrl, asking({ reasoning_effort: 'extreme' }))
  assertRefused(answer, { status: 400, code: 'invalid_request', param: 'reasoning_effort' })
})

test('the thoughts of earlier turns reach the template under either name', async () => {
  for (const name of ['reasoning', 'reasoning_content']) {
    await said('Rome', {
      messages: [
        { role: 'user', content: 'Where?' },
        { role: 'assistant', content: 'Paris', [name]: thought },
        { role: 'user', content: 'And then?' },
      ],
    })
    const prompt = backend.asked.at(-1)?.prompt
    assert.ok(prompt && 'text' in prompt && prompt.text.includes(`<think>\n${thought}\n</think>\n\nParis`))
  }
})
