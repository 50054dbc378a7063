import type { FastifyReply, FastifyRequest } from 'fastify'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonList } from '../../http/streams/streamed-answers.ts'
import type { EmbeddingBody } from '../embeddings/contract.ts'
import { type Embedded, embed } from '../embeddings/embeddings.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { type PoolingQuestion, respondPooled } from '../pooling/respond.ts'
import { createVectorBudget } from '../pooling/vector-budget.ts'
import type { EmbedBody, PromptEmbedBody } from './contract.ts'
import { findModel, nameOf } from './models.ts'

/** Numbers in all vectors of this wire that are being computed: 64 MiB. */
const held = createVectorBudget(16 * 1024 * 1024)

const question: Omit<PoolingQuestion<EmbeddingBody, Embedded>, 'send'> = {
  kind: 'embedding',
  wire: 'ollama',
  prefix: 'embd-',
  leftOut: ['data'],
  make: (...[services, body, asking]) => embed(services, held, body, asking),
  recorded: ({ model, values, tokens }, id) => ({
    id,
    object: 'list',
    model,
    count: values.length,
    dimensions: values[0]?.length ?? 0,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  }),
}

type Send = (reply: FastifyReply, made: Embedded, name: string) => Promise<FastifyReply> | object

/** Asks for the vectors as the route of OpenAI does. Without an input the model is only loaded. */
async function answer(
  services: GenerationParts,
  request: FastifyRequest & { body: EmbedBody | PromptEmbedBody },
  reply: FastifyReply,
  fields: Pick<EmbedBody, 'input' | 'truncate' | 'dimensions'>,
  send: Send,
): Promise<object> {
  const { body, caller, keptBody } = request
  const { input, truncate, dimensions } = fields
  const found = findModel(services.models, body.model, caller, 'embeddings')
  const name = nameOf(body.model, found)
  if (!input?.length) {
    await found.model.load?.(caller.name, disconnectSignal(reply))
    return send(reply, { model: name, values: [], tokens: 0, format: 'float' }, name)
  }
  const model = found.served.names[0] as string
  const asked: EmbeddingBody = {
    model,
    input: new JsonText(JSON.stringify(input)),
    dimensions,
    truncate_prompt_tokens: truncate === false ? null : -1,
  }
  request.keptBody = { bytes: keptBody.bytes, json: () => new JsonText(writeJson({ model, input })) }
  const translated = Object.assign(request, { body: asked })
  return respondPooled(services, translated, reply, {
    ...question,
    send: (...[own, made]) => send(own, made, name),
  })
}

const shown = (vector: Float32Array) => `[${vector.join()}]`

async function* vectorsOf({ values }: Embedded): AsyncGenerator<string> {
  for (const vector of values) yield shown(vector)
}

export function answerEmbed(
  services: GenerationParts,
  request: FastifyRequest & { body: EmbedBody },
  reply: FastifyReply,
): Promise<object> {
  const arrived = performance.now()
  return answer(services, request, reply, request.body, (own, made, model) =>
    sendJsonList(own, 'embeddings', vectorsOf(made), {
      model,
      total_duration: Math.round((performance.now() - arrived) * 1_000_000),
      load_duration: 0,
      prompt_eval_count: made.tokens,
    }),
  )
}

/** The older form, with one text. */
export function answerPromptEmbed(
  services: GenerationParts,
  request: FastifyRequest & { body: PromptEmbedBody },
  reply: FastifyReply,
): Promise<object> {
  const { prompt: input } = request.body
  return answer(services, request, reply, { input }, (_, { values: [vector] }) => ({
    embedding: vector === undefined ? [] : new JsonText(shown(vector)),
  }))
}
