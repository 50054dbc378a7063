import type { z } from 'zod'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { readText } from '../../http/read-body.ts'
import { parseOrRefuse } from '../../http/validation.ts'
import type { ChatAsking } from '../chat-asking.ts'
import { createChatAnswer } from '../generation/chat-answer.ts'
import type { ChatAnswer } from './answer-contract.ts'
import { beginChat } from './completion.ts'
import { ChatBody } from './contract.ts'

const bodyOf = (request: string) => parseOrRefuse(ChatBody, readText(request, ChatBody), 'body') as ChatBody

/** Chat completions that the server asks for itself. */
export const chatAsking: ChatAsking = {
  modelOf: (request) => bodyOf(request).model,
  async ask(services, request, asking) {
    const completion = await beginChat(services, bodyOf(request), asking)
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
