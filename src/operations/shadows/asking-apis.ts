import type { z } from 'zod'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { readText } from '../../http/read-body.ts'
import { parseOrRefuse } from '../../http/validation.ts'
import type { GenerationContext } from '../generation/generation.ts'
import type { Answering, PartialAnswer } from '../generation/recorded.ts'
import type { OperationParts } from '../parts.ts'
import type { ShadowedApi } from '../prompts/wires.ts'

interface Begun {
  deltas: Answering['deltas']
  answer: PartialAnswer
}

/** What answers is loaded with the first request. */
const begin: Record<
  Exclude<ShadowedApi, 'chat'>,
  (services: OperationParts, text: string, asking: GenerationContext) => Promise<Begun>
> = {
  async completions(services, text, asking) {
    const { CompletionBody } = await import('../completions/contract.ts')
    const { beginCompletion } = await import('../completions/completion.ts')
    const { createAnswer } = await import('../completions/answer.ts')
    const completion = await beginCompletion(services, bodyOf(CompletionBody, text), asking)
    return { deltas: completion.deltas, answer: createAnswer(completion, false) }
  },
  async messages(services, text, asking) {
    const { MessagesBody } = await import('../messages/contract.ts')
    const { beginMessage } = await import('../messages/message.ts')
    const { createAnswer } = await import('../messages/answer.ts')
    const message = await beginMessage(services, bodyOf(MessagesBody, text), asking)
    return { deltas: message.deltas, answer: createAnswer(message) }
  },
  async responses(services, text, asking) {
    const { ResponsesBody } = await import('../responses/contract.ts')
    const { beginResponse } = await import('../responses/answering.ts')
    const { createAnswer, writerOf } = await import('../responses/writer.ts')
    const response = await beginResponse(services, bodyOf(ResponsesBody, text), asking)
    return {
      deltas: response.deltas,
      answer: createAnswer({ ...response, writer: writerOf(response) }),
    }
  },
}

const bodyOf = <Contract extends z.ZodType>(contract: Contract, text: string) =>
  parseOrRefuse(contract, readText(text, contract), 'body') as z.output<Contract>

/** The whole answer of an API to the JSON of a request, as a client would get it. */
export async function answerOf(
  api: ShadowedApi,
  services: OperationParts,
  request: string,
  asking: GenerationContext,
): Promise<JsonText> {
  if (api === 'chat') return (await services.chats.ask(services, request, asking)).completion
  const { deltas, answer } = await begin[api](services, request, asking)
  for await (const group of deltas) await answer.add(group)
  return new JsonText(writeJson(answer.end()))
}
