import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Config, ConfiguredUser } from '../config.ts'
import type { RefusalCode } from '../domain/refusals.ts'
import type { Right } from '../domain/roles.ts'
import { answers, type Routes, refusalContracts } from '../http/contracts.ts'
import { disconnectSignal } from '../http/disconnect.ts'
import type { Compiling } from '../inference/constraints/compiling.ts'
import type { SchemaChecks } from '../schemas/checks.ts'
import { type BoundDatabase, type Database, databaseOf } from '../storage/database.ts'
import type { Redacting } from '../storage/redaction/redaction.ts'
import { boundTo } from '../storage/transaction.ts'
import type { Webhooks } from './alerts/webhooks.ts'
import type { ChatAsking } from './chat-asking.ts'
import type { EventHub } from './events/hub.ts'
import type { GenerationParts } from './generation/parts.ts'
import type { Projects } from './projects/settings.ts'
import { recordFor } from './queues/annotator-view.ts'
import { type CallNames, coldHeader, createCallNames, matchesHeader } from './recording/named-calls.ts'
import type { Sealing } from './sealing.ts'
import type { UsageMeter } from './usage/meter.ts'

/** What operations are built from. All families get the same object; a route names the members that it uses. */
export interface OperationParts extends GenerationParts {
  db: Database
  schemas: SchemaChecks
  /** Compiles the constraints of judges, whether there is a model or not. */
  constraints: Compiling
  /** Counts what redaction would replace, and checks its patterns. */
  redacting: Redacting
  /** The settings of projects. */
  projects: Projects
  /** Most days that answers of the Responses API are kept; 0 means as long as the record keeps their calls. */
  responseDays: number
  /** Most bytes of one file. */
  fileLimit: number
  /** Most requests of one batch. */
  batchLines: number
  /** The scheme of the references made here. */
  refScheme: string
  /** Seals what clients store for the server. */
  sealing: Sealing
  webhooks: Webhooks
  usage: UsageMeter
  /** What agents may do at /mcp. */
  mcp: Config['mcp']
  people: ConfiguredPeople
  events: EventHub
  chats: ChatAsking
}

/** The users of HEDDLE_USERS, whose keys are configured there. */
export type ConfiguredPeople = readonly Pick<ConfiguredUser, 'name' | 'entities'>[]

/** The parts for one request. Its reads and writes count as those of its caller, and end with `signal`. */
interface RequestParts extends OperationParts {
  db: BoundDatabase
  /** Finds the calls that the request names. */
  names: CallNames
  /** Aborts when the client disconnects before its answer is complete. Created when it is first read. */
  readonly signal: AbortSignal
}

/** Declares the route of one operation. */
export type Operation = Routes<OperationParts>

/** What an operation accepts and answers, and the rule that it follows. */
interface Contract<Body extends z.ZodType, Params extends z.ZodType, Query extends z.ZodType> {
  summary: string
  tags?: readonly string[]
  body?: Body
  params?: Params
  querystring?: Query
  answer: unknown
  /** Besides those that every operation may give. */
  refusals?: readonly RefusalCode[]
  /** Further answers, by status. */
  others?: Record<number, z.ZodType>
  /** Its bodies have values of any size, up to HEDDLE_BODY_LIMIT. */
  largeBodies?: true
  /** It asks models: a user who has spent the tokens of a minute is refused. */
  spendsTokens?: true
  /** What it does, which decides who may do it. */
  right: Right
  /** Its result is the answer; without a result the answer is empty. */
  rule(
    services: RequestParts,
    request: FastifyRequest & { body: z.output<Body>; params: z.output<Params>; query: z.output<Query> },
    reply: FastifyReply,
  ): unknown
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** An operation of the record. */
export function operation<Body extends z.ZodType, Params extends z.ZodType, Query extends z.ZodType>(
  method: Method,
  url: string,
  {
    answer,
    refusals = [],
    others,
    largeBodies,
    spendsTokens,
    right,
    rule,
    ...taken
  }: Contract<Body, Params, Query>,
): Operation {
  const hasBody = method === 'POST' || method === 'PUT'
  const response = hasBody
    ? answers(answer, ...refusals)
    : { 200: answer, ...refusalContracts('entity_forbidden', 'invalid_request', ...refusals) }
  return async (app, services) => {
    app.route({
      method,
      url,
      schema: { ...taken, response: { ...response, ...others } },
      config: {
        ...(largeBodies && { largeBodies }),
        ...(spendsTokens && { spendsTokens }),
        right,
      },
      handler: async (request, reply) => {
        const seen = recordFor(request.caller, databaseOf(request.caller.name, services.db))
        const db = boundTo(seen, () => disconnectSignal(reply))
        const names = createCallNames(
          { db, settled: services.recorder.settled },
          (matches) => reply.header(matchesHeader, matches),
          (time) => reply.header(coldHeader, time),
        )
        const own: RequestParts = {
          ...services,
          db,
          names,
          get signal() {
            return db.signal
          },
        }
        const result = await rule(own, request as Parameters<typeof rule>[1], reply)
        // A stream that began and was cut off returns nothing, and nothing else can be sent.
        return result ?? (reply.raw.headersSent ? undefined : {})
      },
    })
  }
}

/** Of operations that ask a model themselves. */
export const refusalsOfModels = [
  ...(['model_not_found', 'model_lacks', 'context_length_exceeded'] as const),
  ...(['engine_queue_full', 'engine_share_full', 'upstream_failed', 'upstream_timeout'] as const),
] as const

/** Of operations that have many requests answered in the background. */
export const refusalsOfBatches = [
  ...(['malformed_json', 'unsupported_media_type', 'body_too_large'] as const),
  ...(['batch_needs_key', 'too_many_batches', 'record_refuses_writes'] as const),
] as const

/** Declares operations under a tag of the OpenAPI document, which one of them may replace. */
export const operationsUnder =
  (tag: string) =>
  <Body extends z.ZodType, Params extends z.ZodType, Query extends z.ZodType>(
    method: Method,
    url: string,
    contract: Contract<Body, Params, Query>,
  ): Operation =>
    operation(method, url, { tags: [tag], ...contract })

/** Operations in a scope of their own: what they accept is not accepted elsewhere. */
export const inScope =
  (routes: Operation): Operation =>
  async (app, services) => {
    await app.register(routes, services)
  }

/** Related operations. They share the scope of the app: one for each of 250 routes takes half of the time to build it. */
export function family(...operations: Operation[]): Operation {
  return async (app, services) => {
    for (const declare of operations) await declare(app, services)
  }
}
