/** Servers that speak the wire of OpenAI, by what they take beside it and what they tell. */
export const upstreamKinds = ['heddle', 'vllm', 'llama-server', 'openai'] as const
export type UpstreamKind = (typeof upstreamKinds)[number]

export interface KindOfUpstream {
  /** Fields beside those that every server takes; a field that is not listed is refused unless it asks for nothing. */
  takes: ReadonlySet<string>
  /** Tells the ids of tokens, so that each is counted when it comes. */
  tellsTokens: boolean
  /** Log-probabilities can be had with ids and true bytes. */
  tellsLogprobIds: boolean
  /** Has `/tokenize` and `/detokenize` beside `/v1`. */
  tokenizes: boolean
  /** What a field is called there. */
  names: Readonly<Record<string, string>>
}

/** What vLLM takes beside the fields of OpenAI, and so does Heddle. */
const ofVllm = [
  'top_k',
  'min_p',
  'repetition_penalty',
  'bad_words',
  'allowed_token_ids',
  'min_tokens',
  'stop_token_ids',
  'ignore_eos',
  'include_stop_str_in_output',
  'skip_special_tokens',
  'spaces_between_special_tokens',
  'truncate_prompt_tokens',
  'cache_salt',
  'priority',
  'use_beam_search',
  'length_penalty',
  'repetition_detection',
  'prompt_logprobs',
  'return_token_ids',
  'return_tokens_as_token_ids',
  'continuous_usage_stats',
  'add_generation_prompt',
  'continue_final_message',
  'add_special_tokens',
  'chat_template',
  'chat_template_kwargs',
  'documents',
  'thinking_token_budget',
  'structured_outputs',
  'echo',
]

/** Accepted without an effect by an engine of this machine, and by servers that know no more of it. */
export const withoutEffect = [
  'user',
  'service_tier',
  'kv_transfer_params',
  'mm_processor_kwargs',
  'engine_xargs',
  'vllm_xargs',
]

export const kindsOfUpstreams: Record<UpstreamKind, KindOfUpstream> = {
  heddle: {
    takes: new Set([...ofVllm, 'prediction']),
    tellsTokens: true,
    tellsLogprobIds: true,
    tokenizes: true,
    names: {},
  },
  vllm: {
    takes: new Set([...ofVllm, 'kv_transfer_params', 'mm_processor_kwargs', 'vllm_xargs']),
    tellsTokens: true,
    tellsLogprobIds: false,
    tokenizes: true,
    names: {},
  },
  'llama-server': {
    takes: new Set(['top_k', 'min_p', 'repetition_penalty', 'ignore_eos', 'chat_template_kwargs']),
    tellsTokens: false,
    tellsLogprobIds: false,
    tokenizes: false,
    names: { repetition_penalty: 'repeat_penalty' },
  },
  openai: {
    takes: new Set(['user', 'service_tier', 'prediction']),
    tellsTokens: false,
    tellsLogprobIds: false,
    tokenizes: false,
    names: {},
  },
}

/** By whom a server says that its models are owned. Any other is taken to know the fields of OpenAI alone. */
export function kindOfOwner(owner: unknown): UpstreamKind {
  if (owner === 'heddle' || owner === 'vllm') return owner
  return owner === 'llamacpp' ? 'llama-server' : 'openai'
}
