import { clockNow } from '../../domain/clock.ts'
import { openAiRefusalContracts, type Routes } from '../../http/contracts.ts'
import { checkPriority, wrong } from '../generation/checks.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { recordedBody } from '../generation/respond.ts'
import { family } from '../parts.ts'
import { truncationOf } from '../pooling/fields.ts'
import { type PoolingContext, poolWith } from '../pooling/pooling.ts'
import { type PoolingQuestion, poolingRefusals, respondPooled } from '../pooling/respond.ts'
import { maxDocuments, RerankAnswer, RerankBody, ScoreAnswer, ScoreBody } from './contract.ts'
import { type Scored, score } from './score.ts'

/** Characters of all pairs together. */
const maxCharacters = 4 * 1024 * 1024

type Ranked = Omit<RerankAnswer, 'id' | 'meta' | 'usage'> & Pick<ScoreAnswer, 'usage'>

/** The documents by how well they fit; equal ones in the order in which they were sent. */
async function rerank(services: GenerationParts, body: RerankBody, asking: PoolingContext): Promise<Ranked> {
  const { query, top_n, user } = body
  const documents = body.documents.map((entry) => (typeof entry === 'string' ? entry : entry.text))
  if (documents.length === 0) throw wrong('documents', 'an empty list', 'at least one')
  if (documents.length > maxDocuments) {
    throw wrong('documents', `${documents.length} documents`, `at most ${maxDocuments}`)
  }
  // The model reads the query with each of them.
  const letters = documents.reduce((sum, { length }) => sum + length, query.length * documents.length)
  if (letters > maxCharacters) {
    throw wrong(
      'documents',
      `${letters} characters, counting the query once for each document`,
      `at most ${maxCharacters}`,
    )
  }
  const truncate = truncationOf(body.truncate_prompt_tokens, 'right')
  const found = services.models.find(body.model, asking.caller, 'ranking')
  checkPriority({ priority: body.priority ?? 0 }, services.settings)
  const asked = {
    inputs: documents.map((document) => ({ query, document })),
    field: 'documents',
    isList: true,
    priority: body.priority ?? 0,
    tenant: asking.caller.name,
    ...(truncate && { truncate }),
    ...(user != null && { user }),
  }
  const { model, values, tokens } = await poolWith(services, found, 'rerank', asked, asking)
  const scores = values.map(([score = 0], index) => ({ index, relevance_score: score }))
  const best = scores.toSorted((score, other) => other.relevance_score - score.relevance_score)
  const isShown = body.return_documents ?? true
  return {
    model,
    results: best.slice(0, top_n || undefined).map((score) => ({
      ...score,
      ...(isShown && { document: { text: documents[score.index] as string } }),
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}

const ranking: PoolingQuestion<RerankBody, Ranked> = {
  kind: 'ranking',
  prefix: 'rerank-',
  make: rerank,
  leftOut: ['results.document'],
  recorded: ({ results, ...made }, id) => ({
    id,
    ...made,
    results: results.map(({ index, relevance_score }) => ({ index, relevance_score })),
  }),
  send: (_, made, id) => ({
    id,
    ...made,
    usage: { ...made.usage, completion_tokens: 0 },
    meta: {
      api_version: { version: '2' },
      billed_units: { search_units: 1 },
      tokens: { input_tokens: made.usage.prompt_tokens, output_tokens: 0 },
    },
  }),
}

const rank: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Rank documents by relevance to a query',
    description: 'Compatible with vLLM, Jina and Cohere. docs/embeddings.md describes each field.',
    tags: ['embeddings'],
    body: RerankBody,
    response: { 200: RerankAnswer, ...poolingRefusals },
  }
  for (const url of ['/v1/rerank', '/v2/rerank', '/rerank']) {
    app.post(
      url,
      {
        config: { right: 'infer', spendsTokens: true, keepsBody: recordedBody },
        schema,
      },
      (request, reply) => respondPooled(services, request, reply, ranking),
    )
  }
}

const scoring: PoolingQuestion<ScoreBody, Scored> = {
  kind: 'ranking',
  prefix: 'score-',
  make: score,
  recorded: (made, id) => ({ id, ...made }),
  send: (_, made, id) => ({ id, object: 'list', created: Math.floor(clockNow() / 1000), ...made }),
}

const scored: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Score pairs of texts, compatible with vLLM',
    tags: ['embeddings'],
    body: ScoreBody,
    response: { 200: ScoreAnswer, ...poolingRefusals },
  }
  const config = { right: 'infer', spendsTokens: true, keepsBody: recordedBody } as const
  for (const url of ['/v1/score', '/score']) {
    app.post(url, { config, schema }, (request, reply) => respondPooled(services, request, reply, scoring))
  }
}

/** No model here gives labels: those that do cannot be served. */
const unclassified: Routes<GenerationParts> = async (app) => {
  app.post('/classify', {
    config: { right: 'own' },
    schema: {
      summary: 'Refused: no model here gives labels',
      tags: ['embeddings'],
      response: openAiRefusalContracts('invalid_value'),
    },
    onRequest: async () => {
      throw wrong('model', 'a model that gives labels', 'POST /v1/score and POST /v1/rerank')
    },
    handler: async () => undefined,
  })
}

export const rerankRoutes = family(rank, scored, unclassified)
