import type { Caller } from '../../domain/callers.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Backend } from '../../inference/backend.ts'
import type { Prompts } from '../../inference/prompt/prompts.ts'
import type { ChatBody } from '../chat/contract.ts'
import { promptOf } from '../chat/prompt.ts'
import { type ChatSettings, refuseWhatIsNotThere } from '../chat/refused.ts'
import { servedModel } from '../chat/served-model.ts'
import { checkTogether } from '../chat/together.ts'
import {
  type DetokenizeAnswer,
  type DetokenizeBody,
  mostTokens,
  type TokenizeAnswer,
  type TokenizeBody,
} from './contract.ts'

export interface Tokens {
  backend: Backend | undefined
  prompts: Prompts
  settings: ChatSettings
}

/** The tokens that a prompt, or a conversation, comes to; what a completion of it would count. */
export async function tokenize(
  tokens: Tokens,
  caller: Caller,
  body: TokenizeBody,
  signal: AbortSignal,
): Promise<TokenizeAnswer> {
  const chat = checked(body)
  const { backend, model } = servedModel(tokens.backend, body.model)
  let text = body.prompt ?? ''
  if (chat !== undefined) {
    refuseWhatIsNotThere(chat, tokens.settings)
    const rendered = await promptOf(tokens.prompts, model, caller.name, chat, signal)
    text = rendered.text
  }
  const add = body.add_special_tokens ?? chat === undefined
  const found = await backend.tokenize(text, { special: true, add }, signal)
  return { count: found.length, max_model_len: model.context, tokens: found, token_strs: null }
}

/** The conversation, if it is one. */
function checked({
  prompt,
  return_token_strs,
  add_special_tokens: _,
  ...body
}: TokenizeBody): ChatBody | undefined {
  if (return_token_strs) {
    throw refuse('not_available', { field: 'return_token_strs', given: 'true', accepted: 'false' })
  }
  const { messages } = body
  if ((prompt == null) === (messages == null)) {
    const given = prompt == null ? 'nothing, and no messages' : 'given together with messages'
    throw refuse('invalid_value', { field: 'prompt', given, accepted: 'either a prompt or messages' })
  }
  if (messages == null) return undefined
  const chat = { ...body, messages }
  checkTogether(chat)
  return chat
}

export async function detokenize(
  backend: Backend | undefined,
  { tokens, model }: DetokenizeBody,
  signal: AbortSignal,
): Promise<DetokenizeAnswer> {
  if (tokens.length > mostTokens) {
    throw refuse('too_many_ids', { field: 'tokens', given: tokens.length, limit: mostTokens })
  }
  const served = servedModel(backend, model)
  return { prompt: await served.backend.detokenize(tokens, { special: true }, signal) }
}
