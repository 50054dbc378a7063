import type { Routes } from '../../http/contracts.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { recordedBody } from '../generation/respond.ts'
import { family } from '../parts.ts'
import { type PoolingQuestion, poolingRefusals, respondPooled } from '../pooling/respond.ts'
import { RerankAnswer, RerankBody } from './contract.ts'
import { type Ranked, rerank } from './rerank.ts'

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
    meta: {
      api_version: { version: '2' },
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
        config: { spendsTokens: true, keepsBody: recordedBody },
        schema,
      },
      (request, reply) => respondPooled(services, request, reply, ranking),
    )
  }
}

export const rerankRoutes = family(rank)
