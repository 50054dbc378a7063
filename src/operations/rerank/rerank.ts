import { checkPriority, wrong } from '../generation/checks.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { truncationOf } from '../pooling/fields.ts'
import { type PoolingContext, poolWith } from '../pooling/pooling.ts'
import { maxDocuments, type RerankAnswer, type RerankBody, type ScoreAnswer } from './contract.ts'

/** Characters of all pairs together. */
const maxCharacters = 4 * 1024 * 1024

export type Ranked = Omit<RerankAnswer, 'id' | 'meta' | 'usage'> & Pick<ScoreAnswer, 'usage'>

/** The documents by how well they fit; equal ones in the order in which they were sent. */
export async function rerank(
  services: GenerationParts,
  body: RerankBody,
  asking: PoolingContext,
): Promise<Ranked> {
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
