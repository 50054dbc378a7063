import type { GivenMessage } from '../../../packages/chat-format/index.ts'
import { newId } from '../../domain/ids.ts'
import { checkedPicture } from '../../domain/pictures/check.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { continuedBy, type OpenedConversation } from '../conversations/additions.ts'
import { type ConversationStore, conversationsOf } from '../conversations/conversations.ts'
import { callsAsked } from '../generation/calls.ts'
import { checkMetadata, checkPriority, checkSampling } from '../generation/checks.ts'
import { conversationFrom } from '../generation/conversation.ts'
import { type Generation, type GenerationContext, generate } from '../generation/generation.ts'
import { requestOf, turnOf } from '../generation/request.ts'
import type { OperationParts } from '../parts.ts'
import type { OwnSeal, Sealing } from '../sealing.ts'
import { formatOf } from './constraint.ts'
import { conversationIdOf, type InputTokensBody, type ResponsesBody } from './contract.ts'
import { messagesOf } from './conversation.ts'
import { askWithTruncation } from './fitting.ts'
import { itemsOf } from './input.ts'
import { hasPicture, type Item, responsePrefix } from './items.ts'
import { maxItems } from './items-contract.ts'
import { checkCandidates } from './logprobs.ts'
import { createReferences } from './references.ts'
import { headOf, type ResponseHead } from './response.ts'
import { type NewResponse, type ResponseStore, responsesOf } from './store.ts'
import { choiceGiven, toolsGiven } from './tools.ts'

export interface ResponseParts extends OperationParts {
  sealing: Sealing
}

type Keeping = { store: ResponseStore } & Pick<NewResponse, 'holder' | 'expiring' | 'referred' | 'continued'>

/** An answer that is running or queued. */
export interface RunningResponse extends Generation {
  id: string
  response: ResponseHead
  /** What is kept of it besides its call, and where. */
  keeping: Keeping
  /** Absent unless the request asked for sealed thoughts. */
  seal?: OwnSeal
  isSummarised: boolean
  hasLogprobs: boolean
  tokensAsIds: boolean
}

type Asking = Pick<GenerationContext, 'caller' | 'signal' | 'waiting'>

/** Checks everything that can be wrong before the model is asked. */
export async function checkedResponse(services: ResponseParts, body: ResponsesBody, asking: Asking) {
  const maxTokens = body.max_output_tokens ?? undefined
  const hasLogprobs = body.include?.includes('message.output_text.logprobs') ?? false
  checkTogether(body, hasLogprobs)
  checkSampling(body, maxTokens)
  const found = services.models.find(body.model, asking.caller)
  checkPriority(body, services.settings)
  const constraint = formatOf(body)
  const calls = callsOf(body, services)
  if (typeof calls?.choice === 'object' && constraint !== undefined) {
    throw wrong(constraint.field, 'a constraint together with a named function', 'only one of the two')
  }
  if (hasLogprobs) checkCandidates((maxTokens ?? 0) * (1 + (body.top_logprobs ?? 0)))
  const store = responsesOf(asking.caller, services)
  const id = responsePrefix + (body.request_id ?? newId().replaceAll('-', ''))
  const isTaken = async () =>
    (await store.has(id)) || (!asking.waiting && (await store.waiting(id)) !== undefined)
  if (body.request_id != null && (await isTaken()))
    throw refuse('response_exists', { id, field: 'request_id' })
  const { passesPictures = false } = found.served
  const conversations = conversationsOf(asking.caller, services)
  const input = await inputOf(body, { ...asking, id, store, conversations, passesPictures })
  return { id, found, store, constraint, calls, input, maxTokens, hasLogprobs }
}

/** Checks everything that can be wrong before the first byte of an answer. */
export async function beginResponse(
  services: ResponseParts,
  body: ResponsesBody,
  asking: GenerationContext,
): Promise<RunningResponse> {
  const { settings } = services
  const { id, found, store, constraint, calls, input, maxTokens, hasLogprobs } = await checkedResponse(
    services,
    body,
    asking,
  )
  // A kept answer is a call of the record, so an answer that is not recorded is not kept.
  const isStored = asking.recording !== undefined && body.store !== false
  const isSealed = body.include?.includes('reasoning.encrypted_content') ?? false
  // Once the model has begun, nothing may be awaited that can fail.
  const seal = isSealed ? await services.sealing.open(asking.caller.name) : undefined

  const ask = async (messages: readonly GivenMessage[]) => {
    const conversation = conversationOf(services, body, messages)
    const request = requestOf(
      { ...body, n: 1 },
      {
        inputs: [{ conversation, addSpecial: false }],
        constraint,
        turn: turnOf(calls, body),
        tenant: asking.caller.name,
        maxTokens,
        logprobs: hasLogprobs ? (body.top_logprobs ?? 0) : undefined,
        promptLogprobs: undefined,
      },
    )
    const names = {
      prompt: 'input',
      maxTokens: 'max_output_tokens',
      ...(body.chat_template && { template: 'chat_template' }),
    }
    return generate(services, found, request, asking, names, {
      hidesThoughts: body.include_reasoning === false,
      // Each log-probability goes to the item of its token.
      eachToken: hasLogprobs,
    })
  }
  const generation =
    body.truncation === 'auto' ? await askWithTruncation(input.messages, ask) : await ask(input.messages)
  const { created, model } = generation.head
  return {
    ...generation,
    id,
    response: headOf(body, {
      id,
      created: asking.waiting?.created ?? created,
      model,
      toolChoice: settings.toolChoice,
      isStored,
    }),
    keeping: {
      store,
      holder: asking.waiting?.holder,
      expiring: input.expiring,
      referred: input.referred,
      continued: input.continued,
    },
    ...(seal && { seal }),
    isSummarised: (body.reasoning?.summary ?? body.reasoning?.generate_summary) != null,
    hasLogprobs,
    tokensAsIds: body.return_tokens_as_token_ids ?? false,
  }
}

/** The number of tokens that the model would read. */
export async function countInputTokens(
  services: ResponseParts,
  body: InputTokensBody,
  { caller, signal }: Pick<GenerationContext, 'caller' | 'signal'>,
): Promise<number> {
  checkContinued(body)
  const { model, served } = services.models.find(body.model, caller)
  callsOf(body, services)
  const store = responsesOf(caller, services)
  const { passesPictures = false } = served
  const conversations = conversationsOf(caller, services)
  const context = { signal, store, conversations, id: responsePrefix, passesPictures }
  const { messages } = await inputOf(body, context)
  const conversation = conversationOf(services, body, messages)
  return (await model.tokenize({ conversation, addSpecial: false }, caller.name, signal)).length
}

function checkTogether(body: ResponsesBody, hasLogprobs: boolean): void {
  checkContinued(body)
  if (body.conversation != null && body.store === false) {
    const accepted = 'true, because only an answer that is kept is added to a conversation'
    throw wrong('store', 'false together with a conversation', accepted)
  }
  if (body.top_logprobs && !hasLogprobs) {
    throw wrong(
      'top_logprobs',
      'given without the log-probabilities themselves',
      'with "include": ["message.output_text.logprobs"] only',
    )
  }
  checkMetadata(body.metadata)
}

function checkContinued({ conversation, previous_response_id: previous }: InputTokensBody): void {
  if (conversation == null || previous == null) return
  throw wrong('conversation', 'a conversation together with previous_response_id', 'only one of the two')
}

function callsOf(body: InputTokensBody, { settings }: ResponseParts) {
  const { tools } = toolsGiven(body)
  const choice = choiceGiven(body)
  return callsAsked(
    // Clients that offer only OpenAI's own tools send `auto` nevertheless.
    {
      tools,
      choice: tools.length === 0 && choice === 'auto' ? undefined : choice,
      isParallel: body.parallel_tool_calls ?? true,
    },
    { tools: 'tools', choice: 'tool_choice', name: 'name', parameters: 'parameters' },
    settings,
  )
}

interface InputContext extends Pick<GenerationContext, 'signal'> {
  id: string
  store: ResponseStore
  conversations: ConversationStore
  passesPictures: boolean
}

interface ItemsBefore {
  items: Item[]
  expiring: string[]
  opened?: OpenedConversation
}

/** The items that come before the input. */
async function itemsBefore(
  { previous_response_id: previous, conversation }: InputTokensBody,
  { store, conversations, signal, passesPictures }: InputContext,
): Promise<ItemsBefore> {
  if (previous != null) return store.conversation(previous, signal)
  if (conversation == null) return { items: [], expiring: [] }
  const opened = await conversations.open(conversationIdOf(conversation), signal)
  if (!passesPictures && opened.items.some(hasPicture)) {
    const accepted = 'one without, or a model that is shown pictures'
    throw wrong('conversation', 'a conversation with pictures', accepted)
  }
  return { items: opened.items, expiring: [], opened }
}

async function inputOf(body: InputTokensBody, context: InputContext) {
  const { store, signal, id, passesPictures } = context
  const before = await itemsBefore(body, context)
  const named = new Map((before.opened?.items ?? []).map((item) => [item.id, item]))
  const references = createReferences(store, signal)
  const referred: Record<number, Item> = {}
  const own = await itemsOf(body.input ?? [], {
    response: id,
    unseal: store.unseal,
    checkPicture: passesPictures ? checkedPicture : undefined,
    async item(itemId, index) {
      const found = named.get(itemId) ?? (await references.find(itemId))
      if (found !== undefined) referred[index] = found
      return found
    },
  })
  const items = [...before.items, ...own]
  if (items.length > maxItems)
    throw wrong('input', `${items.length} items, including earlier ones`, `at most ${maxItems}`)
  checkOutputs(items, own)
  const { instructions } = body
  const messages: GivenMessage[] = instructions == null ? [] : [{ role: 'system', content: instructions }]
  messages.push(...messagesOf(items))
  if (messages.length === 0) throw wrong('input', 'nothing', 'a string, or at least one item')
  const continued = before.opened && continuedBy(before.opened, own)
  return { expiring: before.expiring, referred, continued, messages }
}

/** OpenAI refuses an output without its call, too; most templates would fail on it. */
function checkOutputs(items: readonly Item[], own: readonly Item[]): void {
  const calls = new Set(items.flatMap((item) => (item.type === 'function_call' ? item.call_id : [])))
  for (const [index, item] of own.entries()) {
    if (item.type !== 'function_call_output' || calls.has(item.call_id)) continue
    throw wrong(
      `input.${index}.call_id`,
      JSON.stringify(item.call_id),
      'the call_id of an earlier function_call',
    )
  }
}

function conversationOf(
  { settings }: ResponseParts,
  body: InputTokensBody,
  messages: readonly GivenMessage[],
) {
  const { tools } = toolsGiven(body)
  return conversationFrom(
    {
      messages: [...messages] as Parameters<typeof conversationFrom>[0]['messages'],
      model: body.model,
      chat_template: body.chat_template,
      chat_template_kwargs: body.chat_template_kwargs,
      reasoning_effort: body.reasoning?.effort,
      verbosity: body.text?.verbosity,
      tools,
      add_generation_prompt: true,
      continue_final_message: false,
      documents: undefined,
    },
    settings,
  )
}
