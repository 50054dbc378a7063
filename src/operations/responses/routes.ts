import type { FastifyReply } from 'fastify'
import { refuse } from '../../domain/refusals.ts'
import { headerOf } from '../../http/answer-headers/header-list.ts'
import { openAiRefusalContracts, type Routes, wholeOrEvents, wireRoutes } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { type EventForm, openAiEvents, sendEvents } from '../../http/streams/sse.ts'
import { generationRefusals, promptedBody, respond, type Writers } from '../generation/respond.ts'
import { pageAfter } from '../list-pages.ts'
import { family } from '../parts.ts'
import { withNamedPrompt } from '../prompts/in-request.ts'
import { responsesWire } from '../prompts/wires.ts'
import * as answers from './answer-contract.ts'
import { beginResponse, countInputTokens, type ResponseParts } from './answering.ts'
import {
  cancelWaitingResponse,
  findWaiting,
  shownWaiting,
  type WaitingContext,
  waitingEvents,
  waitingInput,
} from './background/waiting.ts'
import { conversationIdOf, InputTokensBody, ResponsesBody } from './contract.ts'
import { type ResponseEvent, writeEvent } from './events.ts'
import type { Item } from './items.ts'
import { replayOf } from './replay.ts'
import { type ReadableResponse, responsesOf } from './store.ts'
import { toolsGiven } from './tools.ts'
import { chunksOf, createAnswer, type ResponseWriter, type WrittenResponse, writerOf } from './writer.ts'

const tags = ['responses']
const route = wireRoutes('responses', openAiRefusalContracts)
const url = '/v1/responses/:response_id'
const params = answers.ResponsePath

type RoutePlugin = Routes<ResponseParts>

/** One writer for each request, because a failure is reported in the answer so far. */
function writersOf(services: ResponseParts): Writers<ResponsesBody, WrittenResponse> {
  let writer: ResponseWriter | undefined
  const form: EventForm = {
    ...openAiEvents,
    write: writeEvent,
    failure: (refusal, request) =>
      writer === undefined
        ? openAiEvents.failure(refusal, request)
        : writeEvent(writer.number(writer.failed(refusal))),
  }
  return {
    kind: 'response',
    isAskedForBySilence: true,
    needing,
    async begin(_, body, asking) {
      const running = await beginResponse(services, body, asking)
      writer = writerOf(running)
      return { ...running, writer }
    },
    createAnswer,
    chunksOf,
    keep: ({ id, response, keeping: { store, ...rest }, writer: { cuts, items: output } }, call) =>
      store.keep({ ...rest, id, previous: response.previous_response_id, output, cuts, call }),
    form,
  }
}

/** What is continued is in the record, and so must be what continues it. */
function needing({ previous_response_id: previous, conversation }: ResponsesBody) {
  const field = previous == null ? 'conversation' : 'previous_response_id'
  const named = previous ?? (conversation == null ? undefined : conversationIdOf(conversation))
  return named === undefined ? undefined : { field, received: JSON.stringify(named) }
}

const create: RoutePlugin = async (app, services) => {
  const refusals = openAiRefusalContracts(
    'recording_off',
    'parent_not_found',
    'response_item_not_found',
    'response_exists',
    'query_too_slow',
    'previous_response_not_found',
    'batch_needs_key',
    'too_many_waiting',
    'conversation_not_found',
    'conversation_full',
  )
  const schema = {
    summary: 'Create a response and store it',
    description: 'Compatible with OpenAI. docs/responses.md describes each field.',
    tags,
    body: ResponsesBody,
    response: {
      200: wholeOrEvents(answers.ResponseAnswer, answers.StreamEvent),
      ...generationRefusals,
      ...refusals,
    },
  }
  app.post(
    '/v1/responses',
    {
      config: promptedBody,
      schema,
      preValidation: withNamedPrompt(services, responsesWire),
    },
    async (request, reply) => {
      const { skipped } = toolsGiven(request.body)
      if (skipped.length > 0) reply.header('x-heddle-skipped-tools', headerOf(skipped))
      if (request.body.background && request.waiting === undefined) {
        const { queueResponse } = await import('./background/queueing.ts')
        const waiting = await queueResponse(services, request, disconnectSignal(reply))
        const context = { services, caller: request.caller, reply }
        return request.body.stream
          ? sendStored(reply, waitingEvents(context, waiting))
          : shownWaiting(waiting)
      }
      return respond(services, request, reply, writersOf(services))
    },
  )
}

const readRefusals = ['response_not_found', 'invalid_request', 'query_too_slow'] as const

async function stored({ services, caller, reply }: WaitingContext, id: string): Promise<ReadableResponse> {
  const response = await responsesOf(caller, services).find(id, disconnectSignal(reply))
  if (response === undefined) throw refuse('response_not_found', { id })
  return response
}

async function sendStored(reply: FastifyReply, events: StoredEvents, after?: number): Promise<FastifyReply> {
  const form = { ...openAiEvents, write: writeEvent }
  await sendEvents(reply, later(events, after), disconnectSignal(reply), form)
  return reply
}

const read: RoutePlugin = async (app, services) => {
  const about = route(
    'infer',
    'Read a stored response',
    wholeOrEvents(answers.ResponseAnswer, answers.StreamEvent),
    { params, querystring: answers.ReplayQuery },
    ...readRefusals,
  )
  app.get(url, about, async (request, reply) => {
    const context = { services, caller: request.caller, reply }
    const { response_id: id } = request.params
    const { stream, starting_after: after } = request.query
    // What waits is looked up first: it is stored before it waits no more.
    const waiting = await findWaiting(context, id)
    if (waiting !== undefined)
      return stream ? sendStored(reply, waitingEvents(context, waiting), after) : shownWaiting(waiting)
    const response = await stored(context, id)
    return stream ? sendStored(reply, replayOf(response), after) : response.answer
  })
}

type StoredEvents = Iterable<ResponseEvent> | AsyncIterable<ResponseEvent>

async function* later(events: StoredEvents, after = -1) {
  for await (const event of events) if (event.sequence_number > after) yield event
}

const remove: RoutePlugin = async (app, services) => {
  const refused = ['response_not_found', 'invalid_request'] as const
  const about = route('infer', 'Delete a stored response', answers.Deleted, { params }, ...refused)
  app.delete(url, about, async ({ caller, params: { response_id: id } }) => {
    if (await responsesOf(caller, services).remove(id)) return { id, object: 'response', deleted: true }
    throw refuse('response_not_found', { id })
  })
}

const cancel: RoutePlugin = async (app, services) => {
  const about = route(
    'infer',
    'Cancel a response that is generated in the background',
    answers.ResponseAnswer,
    { params },
    'response_not_in_background',
    'response_not_found',
    'invalid_request',
    'record_refuses_writes',
  )
  app.post(`${url}/cancel`, about, ({ caller, params }, reply) =>
    cancelWaitingResponse({ services, caller, reply }, params.response_id),
  )
}

const inputItems: RoutePlugin = async (app, services) => {
  const about = route(
    'infer',
    'List the input items of a stored response',
    answers.InputItems,
    { params, querystring: answers.InputItemsQuery },
    ...readRefusals,
    'invalid_value',
  )
  app.get(`${url}/input_items`, about, async (request, reply) => {
    const context = { services, caller: request.caller, reply }
    const { response_id: id } = request.params
    const input = (await waitingInput(context, id)) ?? (await stored(context, id)).input()
    const page = { show: (item: Item) => item, expected: 'the id of an item of this input' }
    return pageAfter(await input, request.query, page)
  })
}

const inputTokens: RoutePlugin = async (app, services) => {
  const schema = {
    summary: 'Count the tokens of an input',
    tags,
    body: InputTokensBody,
    response: {
      200: answers.InputTokens,
      ...generationRefusals,
      ...openAiRefusalContracts(
        'response_item_not_found',
        'previous_response_not_found',
        'conversation_not_found',
        'query_too_slow',
      ),
    },
  }
  app.post(
    '/v1/responses/input_tokens',
    { config: { right: 'infer' }, schema },
    async ({ body, caller }, reply) => ({
      object: 'response.input_tokens',
      input_tokens: await countInputTokens(services, body, { caller, signal: disconnectSignal(reply) }),
    }),
  )
}

export const responseRoutes = family(create, read, remove, cancel, inputItems, inputTokens)
