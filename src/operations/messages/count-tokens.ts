import type { Caller } from '../../domain/callers.ts'
import type { GenerationParts } from '../generation/parts.ts'
import type { CountTokensBody } from './contract.ts'
import { conversationOf } from './conversation.ts'
import { refuseServices } from './message.ts'
import { toolsOf } from './tools.ts'

/** The prompt tokens that a request with this conversation would have. */
export async function countTokens(
  { models }: GenerationParts,
  caller: Caller,
  body: CountTokensBody,
  signal: AbortSignal,
): Promise<{ input_tokens: number }> {
  refuseServices(body)
  const { model, served } = models.find(body.model, caller)
  const conversation = conversationOf(body, toolsOf(body).tools, served)
  const tokens = await model.tokenize({ conversation, addSpecial: false }, caller.name, signal)
  return { input_tokens: tokens.length }
}
