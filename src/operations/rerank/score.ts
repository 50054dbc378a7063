import { doesTask } from '../../inference/registry.ts'
import { checkPriority, wrong } from '../generation/checks.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { truncationOf } from '../pooling/fields.ts'
import { type PoolingContext, poolWith } from '../pooling/pooling.ts'
import { createVectorBudget } from '../pooling/vector-budget.ts'
import { maxDocuments, type ScoreAnswer, type ScoreBody } from './contract.ts'

/** Numbers in all vectors that are being compared: 64 MiB. */
const held = createVectorBudget(16 * 1024 * 1024)

export type Scored = Pick<ScoreAnswer, 'model' | 'data' | 'usage'>

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
export async function score(
  services: GenerationParts,
  body: ScoreBody,
  asking: PoolingContext,
): Promise<Scored> {
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
