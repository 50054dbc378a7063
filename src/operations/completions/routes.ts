import { type Routes, wholeOrEvents } from '../../http/contracts.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { generationRefusals, recordedBody, respond, type Writers } from '../generation/respond.ts'
import { family } from '../parts.ts'
import { createAnswer } from './answer.ts'
import { chunksOf } from './chunks.ts'
import { beginCompletion, type Completion } from './completion.ts'
import { CompletionAnswer, CompletionBody, CompletionChunk } from './contract.ts'

const completions: Writers<CompletionBody, Completion> = {
  kind: 'text',
  begin: beginCompletion,
  createAnswer,
  chunksOf,
}

const complete: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Create a completion',
    description: 'The predecessor of chat completions, compatible with OpenAI and vLLM.',
    tags: ['completions'],
    body: CompletionBody,
    response: { 200: wholeOrEvents(CompletionAnswer, CompletionChunk), ...generationRefusals },
  }
  app.post(
    '/v1/completions',
    {
      config: { right: 'infer', spendsTokens: true, keepsBody: recordedBody },
      schema,
    },
    (request, reply) => respond(services, request, reply, completions),
  )
}

export const completionRoutes = family(complete)
