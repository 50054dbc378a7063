import { clockNow } from '../../domain/clock.ts'
import { openAiRefusalContracts, type Routes } from '../../http/contracts.ts'
import { wrong } from '../generation/checks.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { recordedBody } from '../generation/respond.ts'
import { family } from '../parts.ts'
import { type PoolingQuestion, poolingRefusals, respondPooled } from '../pooling/respond.ts'
import { RerankAnswer, RerankBody, ScoreAnswer, ScoreBody } from './contract.ts'
import { type Ranked, rerank } from './rerank.ts'
import { type Scored, score } from './score.ts'

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
