import { conversationIdOf, type ResponsesBody } from './contract.ts'

/** The fields that an answer repeats from its request, and its id. They are the same in all events of a stream. */
export type ResponseHead = ReturnType<typeof headOf>

interface Made {
  id: string
  /** In seconds. */
  created: number
  model: string
  /** The default of `tool_choice`. */
  toolChoice: 'auto' | 'none'
  isStored: boolean
}

export function headOf(body: ResponsesBody, { id, created, model, toolChoice, isStored }: Made) {
  const { text, reasoning, conversation } = body
  return {
    id,
    object: 'response' as const,
    created_at: created,
    background: body.background ?? false,
    conversation: conversation == null ? null : { id: conversationIdOf(conversation) },
    error: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    max_tool_calls: body.max_tool_calls ?? null,
    model,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    reasoning: {
      effort: reasoning?.effort ?? null,
      summary: reasoning?.summary ?? reasoning?.generate_summary ?? null,
    },
    safety_identifier: body.safety_identifier ?? null,
    service_tier: 'default',
    store: isStored,
    temperature: body.temperature ?? 1,
    presence_penalty: body.presence_penalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? 0,
    text: { format: text?.format ?? { type: 'text' }, verbosity: text?.verbosity ?? 'medium' },
    tool_choice: body.tool_choice ?? toolChoice,
    tools: (body.tools ?? []).filter(({ type }) => type === 'function').map(toolShown),
    top_logprobs: body.top_logprobs ?? 0,
    top_p: body.top_p ?? 1,
    truncation: body.truncation ?? 'disabled',
    user: body.user ?? null,
    metadata: body.metadata ?? {},
  }
}

/** OpenAI shows every member of a function, even those that were not given. */
function toolShown({
  type,
  name,
  description,
  parameters,
  strict,
}: NonNullable<ResponsesBody['tools']>[number]) {
  return {
    type,
    name,
    description: description ?? null,
    parameters: parameters ?? null,
    strict: strict ?? null,
  }
}

/** Why an answer is incomplete, in OpenAI's words where it has one. */
export type Incomplete = 'max_output_tokens' | 'content_filter' | 'repetition' | 'stop'

export interface ResponseUsage {
  input_tokens: number
  input_tokens_details: { cached_tokens: number; cache_write_tokens: number }
  output_tokens: number
  output_tokens_details: { reasoning_tokens: number }
  total_tokens: number
}
