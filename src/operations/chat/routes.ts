import { type Routes, wholeOrEvents } from '../../http/contracts.ts'
import { type ChatCompletion, createChatAnswer } from '../generation/chat-answer.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { generationRefusals, promptedBody, respond, type Writers } from '../generation/respond.ts'
import { family } from '../parts.ts'
import { withNamedPrompt } from '../prompts/in-request.ts'
import { chatWire } from '../prompts/wires.ts'
import { ChatAnswer, ChatChunk } from './answer-contract.ts'
import { chunksOf } from './chunks.ts'
import { beginChat } from './completion.ts'
import { ChatBody } from './contract.ts'
import { storedRoutes } from './stored-routes.ts'

const chat: Writers<ChatBody, ChatCompletion> = {
  kind: 'chat',
  begin: beginChat,
  createAnswer: createChatAnswer,
  chunksOf,
}

const complete: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Create a chat completion',
    description: 'Compatible with OpenAI and vLLM. docs/chat-parameters.md describes each field.',
    tags: ['chat'],
    body: ChatBody,
    response: { 200: wholeOrEvents(ChatAnswer, ChatChunk), ...generationRefusals },
  }
  for (const url of ['/v1/chat/completions', '/v1/chat/completions/']) {
    app.post(
      url,
      {
        // Some of Ollama's clients chat here.
        config: { ...promptedBody, keyless: true },
        schema,
        preValidation: withNamedPrompt(services, chatWire),
      },
      (request, reply) => respond(services, request, reply, chat),
    )
  }
}

export const chatRoutes = family(complete, storedRoutes)
