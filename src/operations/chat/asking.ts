import type { z } from 'zod'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { refusalFor, unknownFields } from '../../http/answer-headers/ignored-fields.ts'
import { readText } from '../../http/read-body.ts'
import { parseOrRefuse } from '../../http/validation.ts'
import type { ChatAsking } from '../chat-asking.ts'
import type { ChatAnswer } from './answer-contract.ts'

async function bodyOf(request: string) {
  const { ChatBody } = await import('./contract.ts')
  return parseOrRefuse(ChatBody, readText(request, ChatBody), 'body') as z.output<typeof ChatBody>
}

/** Chat completions that the server asks for itself. What answers them is loaded with the first. */
export const chatAsking: ChatAsking = {
  modelOf: async (request) => (await bodyOf(request)).model,
  async checkFields(request) {
    const { ChatBody } = await import('./contract.ts')
    const unknown = unknownFields(ChatBody, readText(request, ChatBody))
    if (unknown.length > 0) throw refusalFor('body', unknown, ChatBody)
  },
  async ask(services, request, asking) {
    const [{ createChatAnswer }, { beginChat }] = await Promise.all([
      import('../generation/chat-answer.ts'),
      import('./completion.ts'),
    ])
    const completion = await beginChat(services, await bodyOf(request), asking)
    const answer = createChatAnswer(completion, false)
    for await (const group of completion.deltas) await answer.add(group)
    const completed = answer.end() as z.output<typeof ChatAnswer>
    const { choices, usage, model } = completed
    const { content, tool_calls } = choices[0]?.message ?? {}
    return {
      model,
      usage,
      output: new JsonText(writeJson(content ?? tool_calls ?? null)),
      completion: new JsonText(writeJson(completed)),
    }
  },
}
