import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { OpenAIEmbeddings } from '@langchain/openai'
import { OpenAIEmbedding } from '@llamaindex/openai'
import { embed, embedMany } from 'ai'
import OpenAI from 'openai'
import { startChat } from '../chat/server.ts'

/** Unmodified published clients of OpenAI's embeddings. */

const { baseURL, apiKey } = await startChat({ after })
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
const half = Math.fround(Math.SQRT1_2)

test('the OpenAI SDK requests base64 by default and returns floats', async () => {
  const { data, model, usage } = await client.embeddings.create({ model: 'scripted', input: ['ab', 'c'] })
  assert.deepEqual(
    data.map(({ embedding }) => Array.from(embedding)),
    [
      [half, half, 0, 0],
      [0, 0, 1, 0],
    ],
  )
  assert.deepEqual([model, usage.prompt_tokens, usage.total_tokens], ['scripted', 3, 3])
})

test('the OpenAI SDK requests floats, passes tokens, and reduces dimensions', async () => {
  const asked = { model: 'scripted', encoding_format: 'float' } as const
  const { data } = await client.embeddings.create({ ...asked, input: [[97], [98]], dimensions: 2 })
  assert.deepEqual(
    data.map(({ embedding }) => embedding),
    [
      [1, 0],
      [0, 1],
    ],
  )
})

test('a refusal is an error of the right class of the OpenAI SDK', async () => {
  await assert.rejects(
    client.embeddings.create({ model: 'scripted', input: 'a', dimensions: 3 }),
    (error) => {
      assert.ok(error instanceof OpenAI.BadRequestError)
      assert.deepEqual([error.status, error.param, error.code], [400, 'dimensions', 'invalid_value'])
      return true
    },
  )
})

for (const [name, model] of [
  ['openai', createOpenAI({ baseURL, apiKey }).embedding('scripted')],
  [
    'openai-compatible',
    createOpenAICompatible({ name: 'heddle', baseURL, apiKey }).embeddingModel('scripted'),
  ],
] as const) {
  test(`embed and embedMany of the AI SDK, ${name}`, async () => {
    const { embedding, usage } = await embed({ model, value: 'a' })
    assert.deepEqual([embedding, usage.tokens], [[1, 0, 0, 0], 1])
    const values = Array.from({ length: 300 }, (_, index) => (index % 2 === 0 ? 'a' : 'b'))
    const { embeddings } = await embedMany({ model, values })
    assert.equal(embeddings.length, 300)
    assert.deepEqual(embeddings.slice(0, 2), [
      [1, 0, 0, 0],
      [0, 1, 0, 0],
    ])
  })
}

test('OpenAIEmbeddings of LangChain', async () => {
  const embeddings = new OpenAIEmbeddings({
    model: 'scripted',
    apiKey,
    configuration: { baseURL },
    maxRetries: 0,
  })
  assert.deepEqual(await embeddings.embedQuery('a'), [1, 0, 0, 0])
  assert.deepEqual(await embeddings.embedDocuments(['b', 'c']), [
    [0, 1, 0, 0],
    [0, 0, 1, 0],
  ])
})

test('OpenAIEmbeddings of LangChain: batches and fewer dimensions', async () => {
  const given = { model: 'scripted', apiKey, configuration: { baseURL }, maxRetries: 0 }
  const texts = Array.from({ length: 25 }, (_, index) => 'abc'.charAt(index % 3))
  for (const form of [{}, { encodingFormat: 'float' }] as const) {
    const embeddings = new OpenAIEmbeddings({ ...given, ...form, batchSize: 10, dimensions: 2 })
    const vectors = await embeddings.embedDocuments(texts)
    assert.deepEqual([vectors.length, vectors[0], vectors[24]], [25, [1, 0], [1, 0]])
  }
  await assert.rejects(new OpenAIEmbeddings({ ...given, dimensions: 3 }).embedQuery('a'), /dimensions/)
})

test('OpenAIEmbedding of LlamaIndex: one text, and more texts than fit in one batch', async () => {
  const embedding = new OpenAIEmbedding({ model: 'scripted', apiKey, baseURL, maxRetries: 0 })
  assert.deepEqual(await embedding.getTextEmbedding('a'), [1, 0, 0, 0])
  const texts = Array.from({ length: 25 }, (_, index) => 'abc'.charAt(index % 3))
  const vectors = await embedding.getTextEmbeddingsBatch(texts)
  assert.deepEqual([vectors.length, vectors[1], vectors[24]], [25, [0, 1, 0, 0], [1, 0, 0, 0]])
  const shorter = new OpenAIEmbedding({ model: 'scripted', apiKey, baseURL, maxRetries: 0, dimensions: 2 })
  assert.deepEqual(await shorter.getTextEmbedding('b'), [0, 1])
})
