import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimateJudges, estimateTime, estimateTokens } from '../../../ui/screens/quality/run-estimate.ts'
import { jsonNode } from '../../../ui/value/json-index.ts'

const settings = (system: string, max?: string) => ({
  system,
  fields: new Map(max === undefined ? [] : [['max_completion_tokens', max]]),
})
const sample = ['{"q":"12345678","n":1.50}', '{"q":"1234","n":1.50}'].map(jsonNode)
const run = { rows: 100, sample, prompt: 'Ask {q}', settings: [settings('')], repeats: 1 }

test('a run is estimated from the filled messages of its first rows, for each of its settings and each time', () => {
  // "Ask " and 6 bytes in the mean make 2.5 tokens, so at most 3.
  assert.deepEqual(estimateTokens(run), { asked: 300, maxAnswered: undefined })
  const both = [settings('', '64'), settings('Be brief, please', '16')]
  assert.deepEqual(estimateTokens({ ...run, settings: both, repeats: 3 }), {
    asked: 3 * (300 + 700),
    maxAnswered: 3 * 100 * 80,
  })
  assert.equal(
    estimateTokens({ ...run, settings: [settings('', '64'), settings('')] }).maxAnswered,
    undefined,
  )
})

test('judges read their prompt with what is known of a call, and write as much as they may', () => {
  const judge = (prompt: string, more: object = {}) => ({ judge: { prompt, ...more }, fields: {} })
  const read = (...judges: Parameters<typeof estimateJudges>[1]) => estimateJudges(run, judges, 10).read
  // "Is " and "Ask " with 6 bytes in the mean; what the model will answer is not counted.
  assert.equal(read(judge('Is {inputs.messages.0.content}{output}')), 10 * Math.ceil(13 / 4))
  assert.equal(read(judge('{conversation.question}')), 30)
  assert.equal(read(judge('{inputs.n}', { system: 'Judge it' })), 30)
  assert.equal(read({ ...judge('{number}'), fields: { number: 'inputs.n' } }, judge('{output}')), 10)
  assert.equal(read({ judge: undefined, fields: {} }), 0)
  const written = (more: object) => estimateJudges(run, [judge('{output}', more)], 10).maxWritten
  assert.equal(written({}), 5_120)
  assert.equal(written({ max_tokens: 8 }), 80)
  assert.equal(written({ questions: [{ name: 'a', instructions: 'Is it?' }] }), 0)
  assert.equal(written({ questions: [{ name: 'a' }], reason: true }), 5_120)
})

test('numbers count with their digits, unknown columns as they are written, letters by their bytes', () => {
  const asked = (prompt: string) => estimateTokens({ ...run, rows: 1, prompt }).asked
  assert.equal(asked('{n}{n}{n}'), 3)
  assert.equal(asked('{none}{none}'), 3)
  assert.equal(asked('日本語語'), 3)
})

test('a row may be a conversation, and a dataset without rows asks nothing', () => {
  const conversation = jsonNode(
    '{"messages":[{"role":"user","content":"1234"},{"role":"user","content":"5678"}]}',
  )
  assert.equal(estimateTokens({ ...run, rows: 1, prompt: '', sample: [conversation] }).asked, 2)
  assert.equal(estimateTokens({ ...run, rows: 0, sample: [] }).asked, 0)
})

test('the time of a run is that of all answers, so many at once; unknown where a model has no calls', () => {
  assert.equal(estimateTime(60, [200, 400], 4), (60 * 200 + 60 * 400) / 4)
  assert.equal(estimateTime(60, [200, undefined], 4), undefined)
})
