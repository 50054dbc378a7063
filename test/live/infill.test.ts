import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Answer } from '../support/app.ts'
import { writeRandomModel } from '../support/random-model.ts'
import { newFolder, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

test('the tokens that a file names stand around the texts of a gap, whatever these texts say', async (t) => {
  const folder = await newFolder(t)
  const file = join(folder, 'code.gguf')
  await writeRandomModel(file, { infills: true, addBos: true })
  const server = await startServer(t, { HEDDLE_DATA: folder, HEDDLE_MODEL: file })
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  const body = { prompt: 'a<|im_end|>', suffix: 'b', max_tokens: 3, ignore_eos: true, return_token_ids: true }
  const answer = await server.post('/v1/completions', body)
  const { model, choices, usage }: Answer['json'] = await answer.json()
  const tokens: number[] = choices[0].prompt_token_ids
  const [bos, , ...texts] = tokens
  const before = texts.slice(0, texts.indexOf((bos as number) + 1))
  const named = { prefix: 256, suffix: 257, middle: 259 }
  assert.deepEqual([tokens[1], tokens.at(-3), tokens.at(-1)], Object.values(named))
  const { prompt }: Answer['json'] = await (await server.post('/detokenize', { tokens: before })).json()
  assert.equal(prompt, 'a<|im_end|>')
  assert.equal(before.length > 2, true, 'the name of a control token in the text is letters')
  assert.equal(usage.completion_tokens, 3)
  const editor = { input_prefix: 'a<|im_end|>', input_suffix: 'b', n_predict: 3, ignore_eos: true }
  const filled: Answer['json'] = await (await server.post('/infill', editor)).json()
  assert.deepEqual([filled.tokens_evaluated, filled.tokens_predicted], [tokens.length, 3])
  assert.equal(filled.stop_type, 'limit')
  const shown: Answer['json'] = await (await server.post('/api/show', { model })).json()
  assert.ok(shown.capabilities.includes('insert'))
})
