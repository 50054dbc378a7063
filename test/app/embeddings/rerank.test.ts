import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'

const { post } = await openApp({ after }, { backend: scriptedBackend() })

const documents = ['xx', 'ax', { text: 'aa' }, 'xa']
const body = { query: 'a', documents }

for (const url of ['/v1/rerank', '/v2/rerank', '/rerank']) {
  test(`${url} sorts the documents by how well they fit`, async () => {
    const { status, json } = await post(url, body)
    assert.equal(status, 200)
    assert.deepEqual(json.results, [
      { index: 2, relevance_score: 1, document: { text: 'aa' } },
      { index: 1, relevance_score: 0.5, document: { text: 'ax' } },
      { index: 3, relevance_score: 0.5, document: { text: 'xa' } },
      { index: 0, relevance_score: 0, document: { text: 'xx' } },
    ])
    assert.equal(json.model, 'scripted')
    assert.match(json.id, /^rerank-/)
    // The AI SDK's providers for Together and for Cohere throw without these.
    assert.deepEqual(json.usage, { prompt_tokens: 8, completion_tokens: 0, total_tokens: 8 })
    assert.deepEqual(json.meta, {
      api_version: { version: '2' },
      billed_units: { search_units: 1 },
      tokens: { input_tokens: 8, output_tokens: 0 },
    })
  })

  test(`${url} refuses invalid requests`, async () => {
    for (const [fields, param] of [
      [{ documents: [] }, 'documents'],
      [{ documents: Array.from({ length: 2_049 }, () => 'a') }, 'documents'],
      [
        { query: 'a'.repeat(2_000), documents: Array.from({ length: 2_048 }, () => 'a'.repeat(100)) },
        'documents',
      ],
      [{ rank_fields: ['title'] }, 'rank_fields'],
      [{ top_k: 1 }, 'top_k'],
      [{ max_tokens_per_doc: 100 }, 'max_tokens_per_doc'],
      [{ truncation_side: 'left' }, 'truncation_side'],
      [{ truncate_prompt_tokens: 0 }, 'truncate_prompt_tokens'],
      [{ query: null }, 'query'],
    ] as const) {
      const { status, json } = await post(url, { ...body, ...fields })
      assert.deepEqual([status, json.error?.param], [400, param])
    }
  })
}

test('top_n limits the number of documents, with or without their texts', async () => {
  const { json } = await post('/v1/rerank', { ...body, top_n: 2, return_documents: false })
  assert.deepEqual(json.results, [
    { index: 2, relevance_score: 1 },
    { index: 1, relevance_score: 0.5 },
  ])
  assert.equal((await post('/v1/rerank', { ...body, top_n: 0 })).json.results.length, 4)
  assert.equal((await post('/v1/rerank', { ...body, top_n: 99 })).json.results.length, 4)
})

test('reranking is recorded as a call with its scores', async () => {
  const { headers, json: answer } = await post('/v1/rerank', { ...body, top_n: 1 })
  const { json } = await post('/call/read', {
    project_id: 'acme/default',
    id: headers['x-heddle-call-id'],
  })
  assert.equal(json.call.op_name, 'heddle.rerank')
  assert.deepEqual(json.call.inputs, { ...body, top_n: 1 })
  assert.deepEqual(json.call.output, {
    id: answer.id,
    model: 'scripted',
    results: [{ index: 2, relevance_score: 1 }],
    usage: { prompt_tokens: 8, total_tokens: 8 },
  })
})
