import { clockNow } from '../../domain/clock.ts'
import { wrong } from '../../domain/refusals.ts'
import { openAiRefusalContracts, type Routes } from '../../http/contracts.ts'
import { doesTask } from '../../inference/registry.ts'
import { checkPriority } from '../generation/checks.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { chargedBody } from '../generation/respond.ts'
import { family } from '../parts.ts'
import { truncationOf } from '../pooling/fields.ts'
import { type PoolingContext, poolWith } from '../pooling/pooling.ts'
import { type PoolingQuestion, poolingRefusals, respondPooled } from '../pooling/respond.ts'
import { createVectorBudget } from '../pooling/vector-budget.ts'
import { maxDocuments, RerankAnswer, RerankBody, ScoreAnswer, ScoreBody } from './contract.ts'

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
    app.post(url, { config: chargedBody, schema }, (request, reply) =>
      respondPooled(services, request, reply, ranking),
    )
  }
}

/** Numbers in all vectors that are being compared: 64 MiB. */
const held = createVectorBudget(16 * 1024 * 1024)

type Scored = Pick<ScoreAnswer, 'model' | 'data' | 'usage'>

/** One query with each document, or each query with its document. */
function pairsOf({ queries, documents, text_1, text_2 }: ScoreBody): { query: string; document: string }[] {
  const listOf = (field: string, texts: string | string[] | null | undefined) => {
    const list = texts == null ? [] : [texts].flat()
    if (list.length > 0) return list
    throw wrong(field, texts == null ? 'nothing' : 'an empty list', 'a string, or a list of strings')
  }
  const before = listOf('queries', queries ?? text_1)
  const behind = listOf('documents', documents ?? text_2)
  if (behind.length > maxDocuments) {
    throw wrong('documents', `${behind.length} documents`, `at most ${maxDocuments}`)
  }
  if (before.length !== 1 && before.length !== behind.length) {
    throw wrong('documents', `${behind.length} for ${before.length} queries`, 'as many, or one query')
  }
  return behind.map((document, index) => ({ query: before[index] ?? (before[0] as string), document }))
}

/** How well each pair fits: by a model that ranks, or the cosine of the vectors of one that gives embeddings. */
async function score(services: GenerationParts, body: ScoreBody, asking: PoolingContext): Promise<Scored> {
  const pairs = pairsOf(body)
  const { models, settings } = services
  const named = body.model ? models.find(body.model, asking.caller, 'any') : undefined
  const isByVectors = named && !doesTask(named.served, 'ranking') && doesTask(named.served, 'embeddings')
  const found = models.find(body.model, asking.caller, isByVectors ? 'embeddings' : 'ranking')
  const priority = body.priority ?? 0
  checkPriority({ priority }, settings)
  const truncate = truncationOf(body.truncate_prompt_tokens, 'right')
  const texts = pairs.flatMap(({ query, document }) => [query, document])
  const asked = {
    inputs: isByVectors ? texts.map((text) => ({ text, addSpecial: true })) : pairs,
    ...{ field: 'documents', isList: true, priority, tenant: asking.caller.name },
    ...(truncate && { truncate }),
  }
  const kind = isByVectors ? 'embeddings' : 'rerank'
  const free = held.take(asking.caller.name, isByVectors ? texts.length * (found.served.dimensions ?? 0) : 0)
  const { model, values, tokens } = await poolWith(services, found, kind, asked, asking).finally(free)
  const scoreOf = (index: number): number => {
    if (!isByVectors) return values[index]?.[0] ?? 0
    const [query, document] = values.slice(2 * index, 2 * index + 2)
    return query?.reduce((sum, value, at) => sum + value * (document?.[at] ?? 0), 0) ?? 0
  }
  return {
    model,
    data: pairs.map((_, index) => ({ index, object: 'score', score: scoreOf(index) })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
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
  for (const url of ['/v1/score', '/score']) {
    app.post(url, { config: chargedBody, schema }, (request, reply) =>
      respondPooled(services, request, reply, scoring),
    )
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
