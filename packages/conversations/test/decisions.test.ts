import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answerLine, conversationOf, requestLine, transcriptOf } from '../index.ts'

const rude = { type: 'predicate', name: 'rude', instructions: 'Is it rude?' }
const mood = {
  type: 'choice',
  instructions: [{ type: 'input_text', text: 'Which mood?' }],
  choices: [{ value: 'glad', description: 'in a good mood' }, { value: false }],
}
const level = {
  type: 'score',
  name: 'clear',
  instructions: 'How clear?',
  levels: [{ label: 'no' }, { label: 'well' }],
}
const openAi = (answers: object[], diagnostics: object[] = []) =>
  JSON.stringify({ id: 'decision-1', object: 'decision', created: 1, model: 'm', answers, diagnostics })

const read = (request: object, output: string) => {
  const inputs = JSON.stringify(request)
  const conversation = conversationOf({ inputs, output }) ?? assert.fail()
  return { ...conversation, ...transcriptOf(conversation), lines: [requestLine(inputs), answerLine(output)] }
}

test('typed decisions are questions after their input, and decisions with probabilities', () => {
  const { asked, answered, lines, question, answer } = read(
    { model: 'm', input: 'Get lost!', questions: [rude, mood, level] },
    openAi([
      { type: 'predicate', name: 'rude', probability: 0.034 },
      {
        type: 'choice',
        name: null,
        choice: false,
        probabilities: [
          { value: 'glad', probability: 0.25 },
          { value: false, probability: 0.75 },
        ],
      },
      {
        type: 'score',
        name: 'clear',
        score: 0.9,
        probabilities: [
          { value: 0, label: 'no', probability: 0.1 },
          { value: 1, label: 'well', probability: 0.9 },
        ],
      },
    ]),
  )
  const texts = ['Get lost!', 'rude: Is it rude?', '2: Which mood? (glad = in a good mood, false)']
  texts.push('clear: How clear? (no, well)')
  const decided = ['rude: no (0.97)', '2: false (0.75)', 'clear: well (0.90), score 0.90']
  const textBlocks = (of: string[]) => of.map((text) => ({ kind: 'text', text }))
  assert.deepEqual(asked, [{ role: 'user', blocks: textBlocks(texts) }])
  assert.deepEqual(answered, [{ role: 'assistant', blocks: textBlocks(decided) }])
  assert.deepEqual(lines, [texts.join(' '), decided.join(' ')])
  assert.deepEqual([question, answer], [texts.join('\n\n'), decided.join('\n\n')])
})

test('the questions end the last message of the user, and a refusal has its reason', () => {
  const system = { role: 'system', content: 'Be strict.' }
  const parts = [
    { type: 'input_text', text: 'Hi' },
    { type: 'input_json', data: { a: [1] } },
  ]
  const { name: _, ...only } = rude
  const request = { model: 'm', input: [system, { role: 'user', content: parts }], questions: [only] }
  const { asked, lines } = read(
    request,
    openAi([{ type: 'refusal', name: null }], [{ label_mass: 0.125, argmax_is_label: false }]),
  )
  assert.deepEqual(
    asked.map(({ role, blocks }) => [role, blocks.map((block) => 'text' in block && block.text)]),
    [
      ['system', ['Be strict.']],
      ['user', ['Hi', '{"a":[1]}', 'Is it rude?']],
    ],
  )
  assert.deepEqual(lines, ['Hi {"a":[1]} Is it rude?', 'refused, label mass 0.13'])
  const output = { type: 'function_call_output', call_id: 'c1', output: '12' }
  const after = read({ ...request, input: [output] }, openAi([{ type: 'refusal', name: 'rude' }]))
  assert.deepEqual([after.asked.length, ...after.lines], [2, 'Is it rude?', 'rude: refused'])
})

test('decisions of TypeSafe have the same form, by the ids of their questions', () => {
  const { asked, lines } = read(
    {
      model: 'm',
      state: { seen: true },
      instructions: 'Be strict.',
      questions: {
        rude: { type: 'noul', instructions: null, criteria: { true: 'insults' } },
        mood: { type: 'choice', instructions: 'Which mood?', criteria: { glad: null, sad: 'tears' } },
        clear: { type: 'score', instructions: 'How clear?', criteria: ['no', 'well'] },
      },
    },
    JSON.stringify({
      object: 'structured_decision',
      answers: {
        rude: { type: 'noul', noul: 0.5 },
        mood: { type: 'choice', choice: 'sad', probabilities: { glad: 0.2, sad: 0.8 } },
        clear: {
          type: 'score',
          score: 1,
          legend: { 0: 'no', 1: 'well' },
          probabilities: { 0: 0, 1: 1 },
        },
      },
    }),
  )
  assert.equal(asked[0]?.role, 'system')
  assert.deepEqual(lines, [
    '{"seen":true} rude: rude (true = insults) mood: Which mood? (glad, sad = tears) clear: How clear? (no, well)',
    'rude: yes (0.50) mood: sad (0.80) clear: well (1.00), score 1.00',
  ])
})

test('questions of any other program are none of these, and neither are other answers', () => {
  const inputs = JSON.stringify({ input: 'Hello', questions: [{ type: 'open', text: 'Why?' }] })
  assert.equal(requestLine(inputs), 'Hello')
  assert.equal(requestLine(JSON.stringify({ input: 'Hello', questions: [] })), 'Hello')
  const quiz = JSON.stringify({ object: 'quiz', answers: ['so'] })
  assert.equal(conversationOf({ inputs: undefined, output: quiz }), undefined)
  assert.deepEqual(conversationOf({ inputs: undefined, output: openAi([]) })?.answered[0]?.blocks, [])
})
