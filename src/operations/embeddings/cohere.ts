import { endianness } from 'node:os'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { JsonText } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import { addIgnored } from '../../http/answer-headers/ignored-fields.ts'
import { sendChunks } from '../../http/streams/streamed-answers.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { type PoolingQuestion, respondPooled } from '../pooling/respond.ts'
import type { VectorBudget } from '../pooling/vector-budget.ts'
import type { CohereEmbedBody } from './cohere-contract.ts'
import { type Embedded, embed } from './embeddings.ts'

type Writing = NonNullable<CohereEmbedBody['embedding_types']>[number]

/** How a vector is written, beside `float`. One bit for each number says whether it is above zero. */
const writings: Record<Writing, (vector: Float32Array) => string> = {
  float: (vector: Float32Array) => `[${vector.join()}]`,
  base64: (vector: Float32Array) => `"${base64Of(vector)}"`,
  ubinary: (vector: Float32Array) => `[${signsOf(vector).join()}]`,
  binary: (vector: Float32Array) => `[${signsOf(vector).map((byte) => byte - 128)}]`,
}

type AskedBody = Parameters<typeof embed>[2]

/** Asks for the vectors as the route of OpenAI does, and writes them as Cohere's clients read them. */
export function answerCohere(
  services: GenerationParts,
  held: VectorBudget,
  question: Omit<PoolingQuestion<AskedBody, Embedded>, 'make' | 'send'>,
  request: FastifyRequest & { body: CohereEmbedBody },
  reply: FastifyReply,
): Promise<object> {
  const { body } = request
  const texts = textsOf(body)
  const { truncate, max_tokens, output_dimension, input_type, embedding_types, ...shared } = body
  if (input_type != null) addIgnored(reply, ['input_type'])
  const asked: AskedBody = {
    ...shared,
    input: new JsonText(JSON.stringify(texts)),
    dimensions: output_dimension,
    truncate_prompt_tokens: truncate === 'NONE' ? max_tokens : (max_tokens ?? -1),
    truncation_side: truncate === 'START' ? 'left' : 'right',
  }
  const forms = embedding_types?.length ? [...new Set(embedding_types)] : (['float'] as const)
  return respondPooled(services, Object.assign(request, { body: asked }), reply, {
    ...question,
    wire: 'cohere',
    make: (...[own, translated, asking]) =>
      embed(own, held, translated, asking, body.texts == null ? 'inputs' : 'texts'),
    send: (own, made, id) =>
      sendChunks(own, 'application/json; charset=utf-8', written(made, id, texts, forms)),
  })
}

function textsOf({ texts, inputs }: CohereEmbedBody): string[] {
  if (texts != null && inputs != null) throw wrong('inputs', 'a list beside `texts`', 'one of the two')
  const all = texts ?? inputs?.map(({ content }) => content.map(({ text }) => text).join('\n'))
  if (all === undefined) throw wrong('texts', 'nothing', 'a list of texts, or `inputs`')
  if (all.length === 0) throw wrong(texts == null ? 'inputs' : 'texts', 'an empty list', 'at least one')
  return all
}

async function* written(
  { values, tokens }: Embedded,
  id: string,
  texts: readonly string[],
  forms: readonly Writing[],
): AsyncGenerator<string> {
  const meta = { api_version: { version: '2' }, billed_units: { input_tokens: tokens } }
  yield `{"id":${JSON.stringify(id)},"response_type":"embeddings_by_type","embeddings":{`
  for (const [at, form] of forms.entries()) {
    yield `${at === 0 ? '' : ','}"${form}":[`
    for (const [n, vector] of values.entries()) yield `${n === 0 ? '' : ','}${writings[form](vector)}`
    yield ']'
  }
  yield `},"texts":[`
  for (const [n, text] of texts.entries()) yield `${n === 0 ? '' : ','}${JSON.stringify(text)}`
  yield `],"meta":${JSON.stringify(meta)}}`
}

/** Little-endian on every machine, as SDKs read it. */
export function base64Of(vector: Float32Array): string {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength)
  return (endianness() === 'LE' ? bytes : Buffer.from(bytes).swap32()).toString('base64')
}

/** The first number is the highest bit; the last byte is filled up with zeros. */
function signsOf(vector: Float32Array): number[] {
  const bytes = new Array<number>(Math.ceil(vector.length / 8)).fill(0)
  for (const [at, value] of vector.entries()) {
    if (value > 0) bytes[at >> 3] = (bytes[at >> 3] as number) | (128 >> (at & 7))
  }
  return bytes
}
