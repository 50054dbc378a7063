import { unreadMembers } from '../../../packages/chat-format/index.ts'
import type { Caller } from '../../domain/callers.ts'
import { maxUnknown } from '../../domain/json/read.ts'
import { refuse, requireFew, wrong } from '../../domain/refusals.ts'
import type { Input } from '../../inference/model.ts'
import { checkConversation, conversationFrom } from '../generation/conversation.ts'
import type { GenerationParts } from '../generation/parts.ts'
import {
  type DetokenizeAnswer,
  type DetokenizeBody,
  maxTokens,
  type TokenizeAnswer,
  type TokenizeBody,
  type TokenizerInfoAnswer,
} from './contract.ts'

/** The tokens of a prompt or a conversation, as a completion of it would count them. */
export async function tokenize(
  { models, settings }: GenerationParts,
  caller: Caller,
  body: TokenizeBody,
  signal: AbortSignal,
  ignore: (names: readonly string[]) => void,
): Promise<TokenizeAnswer> {
  if (body.return_token_strs) {
    throw refuse('not_available', { field: 'return_token_strs', received: 'true', accepted: 'false' })
  }
  const { prompt, messages, add_special_tokens: addSpecial } = body
  if ((prompt == null) === (messages == null)) {
    const received = prompt == null ? 'nothing, and no messages' : 'given together with messages'
    throw wrong('prompt', received, 'either a prompt or messages')
  }
  if (messages != null) checkConversation({ ...body, messages })
  const { model, served } = models.find(body.model, caller, 'any')
  const input: Input =
    messages == null
      ? { text: prompt ?? '', addSpecial: addSpecial ?? true }
      : { conversation: conversationFrom({ ...body, messages }, settings), addSpecial: addSpecial ?? false }
  const isHere = ((await model.load?.(caller.name, signal)) ?? served).vocabulary > 0
  if (isHere && 'conversation' in input) ignore(unreadMembers(input.conversation.messages, maxUnknown + 1))
  const tokens = await model.tokenize(input, caller.name, signal)
  return { count: tokens.length, max_model_len: served.context, tokens, token_strs: null }
}

/** Only for models on this machine: a remote server does not report its tokenizer. */
export async function tokenizerInfo(
  { models }: GenerationParts,
  caller: Caller,
  name: string | undefined,
  signal: AbortSignal,
): Promise<TokenizerInfoAnswer> {
  if (models.all.length === 0) {
    throw refuse('model_not_found', {
      field: 'model',
      model: JSON.stringify(name ?? null),
      accepted: 'nothing: this server has no model (HEDDLE_MODEL=none)',
    })
  }
  const { model, served } = models.find(name, caller, 'any')
  const { tokens, template, context, vocabulary } = (await model.load?.(caller.name, signal)) ?? served
  if (vocabulary === 0) {
    throw refuse('upstream_lacks', {
      field: 'model',
      received: 'questions about its tokenizer',
      accepted: 'a model that runs on this machine',
    })
  }
  return {
    tokenizer_class: 'heddle',
    bos_token: tokens.bos || null,
    eos_token: tokens.eos || null,
    // Prompts are never padded, but harnesses require a pad token.
    pad_token: tokens.eos || null,
    chat_template: template ?? null,
    model_max_length: context,
    vocab_size: vocabulary,
  }
}

export async function detokenize(
  { models }: GenerationParts,
  caller: Caller,
  body: DetokenizeBody,
  signal: AbortSignal,
): Promise<DetokenizeAnswer> {
  const { tokens } = body
  requireFew('tokens', tokens, maxTokens)
  const { model } = models.find(body.model, caller, 'any')
  return { prompt: await model.detokenize(tokens, { special: true, tenant: caller.name }, signal) }
}
