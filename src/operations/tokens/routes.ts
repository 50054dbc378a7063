import { addIgnored } from '../../http/answer-headers/ignored-fields.ts'
import { type Routes, refusalContracts } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { family } from '../parts.ts'
import * as contract from './contract.ts'
import { detokenize, tokenize, tokenizerInfo } from './tokens.ts'

const tags = ['tokens']

const refused = refusalContracts(
  'malformed_json',
  'model_not_found',
  'model_not_ready',
  'body_too_large',
  'unsupported_media_type',
  'invalid_request',
  'queue_full',
  'upstream_failed',
  'upstream_timeout',
)

type RoutePlugin = Routes<GenerationParts>

const toTokens: RoutePlugin = async (app, services) => {
  const schema = {
    summary: 'Count the tokens of a text or a conversation',
    tags,
    body: contract.TokenizeBody,
    response: { 200: contract.TokenizeAnswer, ...refused },
  }
  app.post('/tokenize', { config: { right: 'infer' }, schema }, (request, reply) =>
    tokenize(services, request.caller, request.body, disconnectSignal(reply), (names) =>
      addIgnored(reply, names),
    ),
  )
}

const toText: RoutePlugin = async (app, services) => {
  const schema = {
    summary: 'Convert tokens to text',
    tags,
    body: contract.DetokenizeBody,
    response: { 200: contract.DetokenizeAnswer, ...refused },
  }
  app.post('/detokenize', { config: { right: 'infer' }, schema }, (request, reply) =>
    detokenize(services, request.caller, request.body, disconnectSignal(reply)),
  )
}

const tokenizer: RoutePlugin = async (app, services) => {
  const schema = {
    summary: 'Read properties of the tokenizer that test harnesses need',
    tags,
    querystring: contract.TokenizerInfoQuery,
    response: {
      200: contract.TokenizerInfoAnswer,
      ...refusalContracts('model_not_found', 'model_not_ready', 'invalid_request', 'upstream_lacks'),
    },
  }
  app.get('/tokenizer_info', { config: { right: 'infer' }, schema }, async (request, reply) =>
    tokenizerInfo(services, request.caller, request.query.model, disconnectSignal(reply)),
  )
}

export const tokenRoutes = family(toTokens, toText, tokenizer)
