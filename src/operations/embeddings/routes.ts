import { clockNow } from '../../domain/clock.ts'
import type { Routes } from '../../http/contracts.ts'
import { sendJsonList } from '../../http/streams/streamed-answers.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { chargedBody } from '../generation/respond.ts'
import { family } from '../parts.ts'
import { type PoolingQuestion, poolingRefusals, respondPooled } from '../pooling/respond.ts'
import { createVectorBudget } from '../pooling/vector-budget.ts'
import { answerCohere, base64Of } from './cohere.ts'
import { CohereEmbedAnswer, CohereEmbedBody } from './cohere-contract.ts'
import { EmbeddingAnswer, EmbeddingBody } from './contract.ts'
import { type Embedded, embed } from './embeddings.ts'

const usageOf = ({ tokens }: Embedded) => ({ prompt_tokens: tokens, total_tokens: tokens })

const embeddings: Omit<PoolingQuestion<EmbeddingBody, Embedded>, 'make'> = {
  kind: 'embedding',
  prefix: 'embd-',
  leftOut: ['data'],
  recorded: (made, id) => ({
    id,
    object: 'list',
    model: made.model,
    count: made.values.length,
    dimensions: made.values[0]?.length ?? 0,
    encoding_format: made.format,
    usage: usageOf(made),
  }),
  send: (reply, made, id) =>
    sendJsonList(reply, 'data', entriesOf(made), {
      id,
      object: 'list',
      created: Math.floor(clockNow() / 1000),
      model: made.model,
      usage: usageOf(made),
    }),
}

/** Serialised one by one, at the pace of the client: together they may be a hundred megabytes. */
async function* entriesOf({ values, format }: Embedded): AsyncGenerator<string> {
  for (const [index, vector] of values.entries()) {
    const embedding = format === 'float' ? `[${vector.join()}]` : `"${base64Of(vector)}"`
    yield `{"object":"embedding","index":${index},"embedding":${embedding}}`
  }
}

const makeVectors: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Create embeddings',
    description: 'Compatible with OpenAI and vLLM. docs/embeddings.md describes each field.',
    tags: ['embeddings'],
    body: EmbeddingBody,
    response: { 200: EmbeddingAnswer, ...poolingRefusals },
  }
  const held = createVectorBudget()
  const question: PoolingQuestion<EmbeddingBody, Embedded> = {
    ...embeddings,
    make: (...[ownServices, body, asking]) => embed(ownServices, held, body, asking),
  }
  for (const url of ['/v1/embeddings', '/v1/embeddings/']) {
    app.post(url, { config: chargedBody, schema: { ...schema, hide: url.endsWith('/') } }, (request, reply) =>
      respondPooled(services, request, reply, question),
    )
  }
  const cohere = {
    summary: 'Create embeddings, compatible with Cohere',
    tags: ['embeddings'],
    body: CohereEmbedBody,
    response: { 200: CohereEmbedAnswer, ...poolingRefusals },
  }
  app.post('/v2/embed', { config: chargedBody, schema: cohere }, (request, reply) =>
    answerCohere(services, held, embeddings, request, reply),
  )
}

export const embeddingRoutes = family(makeVectors)
