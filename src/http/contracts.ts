import type { IncomingMessage, ServerResponse } from 'node:http'
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyPluginAsync,
  FastifyPluginOptions,
  FastifySerializerCompiler,
  FastifyTypeProvider,
  RawServerDefault,
} from 'fastify'
import { z } from 'zod'
import { writeJson } from '../domain/json/text.ts'
import { type RefusalCode, refusals } from '../domain/refusals.ts'
import type { Right } from '../domain/roles.ts'

/** Handlers get the body as their contract parses it; in tests, answers are checked against their contract. */
export interface ContractTypes extends FastifyTypeProvider {
  validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown
  serializer: unknown
}

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ContractTypes
>

/** A plugin that declares the route of one operation. */
export type Routes<Options extends FastifyPluginOptions> = FastifyPluginAsync<
  Options,
  RawServerDefault,
  ContractTypes
>

export const RefusalBody = z.object({
  reason: z.string().describe('What is wrong: the field, the value given, and what is accepted.'),
  code: z.string().describe('A stable code; docs/errors.md lists all of them.'),
  detail: z
    .array(z.object({ loc: z.array(z.union([z.string(), z.number()])), msg: z.string(), type: z.string() }))
    .optional(),
  deleted_at: z.iso
    .datetime()
    .optional()
    .describe('When the object was deleted; only with the code `object_deleted`.'),
})

/** The refusals, by status, that a route of the record may send besides its own answers, for the contract. */
export function refusalContracts(...codes: RefusalCode[]): Record<number, z.ZodType> {
  const always: RefusalCode[] = ['not_authenticated', 'rate_limit_exceeded', 'too_busy', 'internal_error']
  return Object.fromEntries([...always, ...codes].map((code) => [refusals[code].status, RefusalBody]))
}

/** An answer that is sent whole, or as server-sent events if the request has `"stream": true`. */
export function wholeOrEvents(whole: z.ZodType, event: z.ZodType) {
  return {
    description: `${whole.description} With \`"stream": true\` it is sent in parts: each event is \`data: {…}\`, the last one \`data: [DONE]\`.`,
    content: { 'application/json': { schema: whole }, 'text/event-stream': { schema: event } },
  }
}

/** The same under /v1, in the form that OpenAI's SDKs expect. */
const OpenAiRefusal = z.object({
  error: z.object({
    message: z.string(),
    type: z.string(),
    param: z.string().nullable().describe('The field that the error is about, if any.'),
    code: z.string().describe('A stable code; docs/errors.md lists all of them.'),
  }),
})

/** In the form that Anthropic's SDKs expect. */
const AnthropicRefusal = z.object({
  type: z.literal('error'),
  error: z.object({
    type: z.string(),
    message: z.string(),
    details: z.object({
      error_code: z.string().describe('A stable code; docs/errors.md lists all of them.'),
    }),
  }),
  request_id: z.string(),
})

/** In the form that Ollama's clients expect. */
const OllamaRefusal = z.object({ error: z.string(), code: OpenAiRefusal.shape.error.shape.code })

/**
 * The refusals, by status, that a route of models may send besides its own answers; a body that does not fit is a 400
 * there.
 */
function refusingAs(body: z.ZodType, codes: RefusalCode[]): Record<number, z.ZodType> {
  const statuses = Object.keys(refusalContracts(...codes)).map(Number)
  return Object.fromEntries(statuses.map((status) => [status === 422 ? 400 : status, body]))
}

export const openAiRefusalContracts = (...codes: RefusalCode[]) => refusingAs(OpenAiRefusal, codes)

export const anthropicRefusalContracts = (...codes: RefusalCode[]) => refusingAs(AnthropicRefusal, codes)

export const ollamaRefusalContracts = (...codes: RefusalCode[]) => refusingAs(OllamaRefusal, codes)

/** Makes descriptions of the routes of a wire: a right, a summary, an answer, what else it takes, and its refusals. */
export const wireRoutes =
  (tag: string, refusing: (...codes: RefusalCode[]) => Record<number, z.ZodType>) =>
  <Fields extends object>(
    right: Right,
    summary: string,
    answer: unknown,
    fields: Fields,
    ...codes: RefusalCode[]
  ) => ({
    config: { right },
    schema: { summary, tags: [tag], ...fields, response: { 200: answer, ...refusing(...codes) } },
  })

/** What every route with a project and a body may refuse. */
const recordRefusals = refusalContracts(
  'malformed_json',
  'entity_forbidden',
  'body_too_large',
  'unsupported_media_type',
  'invalid_request',
  'queue_full',
)

/**
 * The answers of a route of the record by status: its own, its own refusals, and those that every such route may send.
 */
export function answers<Own>(own: Own, ...codes: RefusalCode[]): Record<number, Own | z.ZodType> {
  return { 200: own, ...recordRefusals, ...refusalContracts(...codes) }
}

/** An answer with one JSON text per line. */
export function jsonLinesOf(schema: z.ZodType, type = 'application/jsonl') {
  return { description: 'JSON Lines', content: { [type]: { schema } } }
}

/** The answer of an operation that sends a file. */
export const bytesAnswer = {
  description: 'The bytes',
  content: { 'application/octet-stream': { schema: z.string().meta({ format: 'binary' }) } },
}

export const writeAnswers: FastifySerializerCompiler<unknown> = () => writeJson

/** For tests: an answer that breaks its contract is an error. */
export function checkAnswers(app: App): void {
  app.addHook('preSerialization', async ({ method, routeOptions: { url, schema } }, reply, answer) => {
    const declared = (schema?.response as Record<number, z.ZodType | DescribedAnswer> | undefined)?.[
      reply.statusCode
    ]
    const type = String(reply.getHeader('content-type') ?? 'application/json').split(';')[0] as string
    const contract = declared && 'content' in declared ? declared.content[type]?.schema : declared
    const result = contract?.safeParse(JSON.parse(writeJson(answer)))
    if (result?.success === false) {
      const wrong = z.prettifyError(result.error)
      throw new Error(`${method} ${url} ${reply.statusCode} breaks its contract: ${wrong}`)
    }
    return answer
  })
}

interface DescribedAnswer {
  content: Record<string, { schema: z.ZodType }>
}
