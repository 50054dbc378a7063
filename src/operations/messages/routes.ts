import { anthropicRefusalContracts, type Routes } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { promptedBody, respond, type Writers } from '../generation/respond.ts'
import { family } from '../parts.ts'
import { withNamedPrompt } from '../prompts/in-request.ts'
import { messagesWire } from '../prompts/wires.ts'
import { createAnswer } from './answer.ts'
import { CountTokensAnswer, CountTokensBody, MessageAnswer, MessageEvent, MessagesBody } from './contract.ts'
import { eventsOf, messageEvents } from './events.ts'
import { type AskedMessage, beginMessage, countTokens } from './message.ts'

const tags = ['messages']

const refused = anthropicRefusalContracts(
  'malformed_json',
  'model_not_found',
  'body_too_large',
  'unsupported_media_type',
  'engine_queue_full',
  'engine_share_full',
  'upstream_failed',
  'upstream_timeout',
)

const recording = anthropicRefusalContracts(
  'entity_forbidden',
  'recording_off',
  'parent_not_found',
  'record_refuses_writes',
)

const messages: Writers<MessagesBody, AskedMessage> = {
  kind: 'message',
  begin: beginMessage,
  createAnswer,
  chunksOf: eventsOf,
  form: messageEvents,
}

const answered: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Create a message, compatible with Anthropic',
    description: 'docs/messages.md describes each field.',
    tags,
    body: MessagesBody,
    response: { 200: wholeOrMessageEvents, ...refused, ...recording },
  }
  app.post('/v1/messages', {
    config: promptedBody,
    schema,
    preValidation: withNamedPrompt(services, messagesWire),
    handler: (request, reply) => respond(services, request, reply, messages),
  })
}

const wholeOrMessageEvents = {
  description: `${MessageAnswer.description} With \`"stream": true\` it is sent as named events; the last one is \`message_stop\`.`,
  content: {
    'application/json': { schema: MessageAnswer },
    'text/event-stream': { schema: MessageEvent },
  },
}

const counted: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Count the tokens of a conversation, compatible with Anthropic',
    tags,
    body: CountTokensBody,
    response: { 200: CountTokensAnswer, ...refused },
  }
  app.post('/v1/messages/count_tokens', { config: { right: 'infer' }, schema }, (request, reply) =>
    countTokens(services, request.caller, request.body, disconnectSignal(reply)),
  )
}

export const messageRoutes = family(answered, counted)
