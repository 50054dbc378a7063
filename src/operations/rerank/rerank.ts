import { checkPriority, wrong } from '../generation/checks.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { truncationOf } from '../pooling/fields.ts'
import { type PoolingContext, poolWith } from '../pooling/pooling.ts'
import { mostDocuments, type RerankAnswer, type RerankBody } from './contract.ts'

/** Characters of all pairs together. */
const mostLetters = 4 * 1024 * 1024

export type Ranked = Omit<RerankAnswer, 'id' | 'meta'>

/** The documents by how well they fit; equal ones in the order in which they were sent. */
export async function rerank(
  parts: GenerationParts,
  body: RerankBody,
  asking: PoolingContext,
): Promise<Ranked> {
  const { query, top_n, user } = body
  const documents = body.documents.map((one) => (typeof one === 'string' ? one : one.text))
  if (documents.length === 0) throw wrong('documents', 'an empty list', 'at least one')
  if (documents.length > mostDocuments) {
    throw wrong('documents', `${documents.length} documents`, `at most ${mostDocuments}`)
  }
  // The model reads the query with each of them.
  const letters = documents.reduce((sum, { length }) => sum + length, query.length * documents.length)
  if (letters > mostLetters) {
    throw wrong(
      'documents',
      `${letters} characters, counting the query once for each document`,
      `at most ${mostLetters}`,
    )
  }
  const truncate = truncationOf(body.truncate_prompt_tokens, 'right')
  const found = parts.models.find(body.model, asking.caller, 'ranking')
  checkPriority({ priority: body.priority ?? 0 }, parts.settings)
  const asked = {
    inputs: documents.map((document) => ({ query, document })),
    field: 'documents',
    isList: true,
    priority: body.priority ?? 0,
    tenant: asking.caller.name,
    ...(truncate && { truncate }),
    ...(user != null && { user }),
  }
  const { model, values, tokens } = await poolWith(parts, found, 'rerank', asked, asking)
  const scores = values.map(([score = 0], index) => ({ index, relevance_score: score }))
  const best = scores.toSorted((one, other) => other.relevance_score - one.relevance_score)
  const isShown = body.return_documents ?? true
  return {
    model,
    results: best.slice(0, top_n || undefined).map((one) => ({
      ...one,
      ...(isShown && { document: { text: documents[one.index] as string } }),
    })),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }
}
