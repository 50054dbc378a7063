/** Servers with the OpenAI API, by what else they accept and what they return. */
export const upstreamKinds = ['heddle', 'vllm', 'llama-server', 'openai'] as const
export type UpstreamKind = (typeof upstreamKinds)[number]

export interface KindOfUpstream {
  /**
   * Fields in addition to those that every server accepts; a field that is not listed is refused unless it asks for
   * nothing.
   */
  takes: ReadonlySet<string>
  /** Returns the ids of tokens, so that each is counted when it arrives. */
  returnsTokens: boolean
  /** Can return logprobs with ids and exact bytes. */
  returnsLogprobIds: boolean
  /** Has `/tokenize` and `/detokenize` next to `/v1`. */
  tokenizes: boolean
  /** What fields are called there, if not the same. */
  names: Readonly<Record<string, string>>
}

/** What vLLM accepts in addition to the fields of OpenAI, and so does Heddle. */
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
  'truncation_side',
  'logprob_token_ids',
  'cache_salt',
  'priority',
  'use_beam_search',
  'length_penalty',
  'repetition_detection',
  'prompt_logprobs',
  'return_token_ids',
  'return_prompt_text',
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

/** Of OpenAI alone; for the engine of this machine only `verbosity` has an effect. */
const ofOpenAi = [
  'user',
  'safety_identifier',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'verbosity',
]

/** Accepted without effect by an engine of this machine, and by servers that do not know them. */
export const withoutEffect = [
  ...ofOpenAi,
  'kv_transfer_params',
  'ec_transfer_params',
  'mm_processor_kwargs',
  'media_io_kwargs',
  'engine_xargs',
  'vllm_xargs',
]

export const kindsOfUpstreams: Record<UpstreamKind, KindOfUpstream> = {
  heddle: {
    takes: new Set([...ofVllm, 'prediction', 'verbosity']),
    returnsTokens: true,
    returnsLogprobIds: true,
    tokenizes: true,
    names: {},
  },
  vllm: {
    takes: new Set([
      ...ofVllm,
      'kv_transfer_params',
      'ec_transfer_params',
      'mm_processor_kwargs',
      'media_io_kwargs',
      'vllm_xargs',
    ]),
    returnsTokens: true,
    returnsLogprobIds: false,
    tokenizes: true,
    names: {},
  },
  'llama-server': {
    takes: new Set(['top_k', 'min_p', 'repetition_penalty', 'ignore_eos', 'chat_template_kwargs']),
    returnsTokens: false,
    returnsLogprobIds: false,
    tokenizes: false,
    names: { repetition_penalty: 'repeat_penalty' },
  },
  openai: {
    takes: new Set([...ofOpenAi, 'prediction']),
    returnsTokens: false,
    returnsLogprobIds: false,
    tokenizes: false,
    names: {},
  },
}

/**
 * The kind of a server, from the owner that it gives for its models. Any other is assumed to know only the fields of
 * OpenAI.
 */
export function kindOfOwner(owner: unknown): UpstreamKind {
  if (owner === 'heddle' || owner === 'vllm') return owner
  return owner === 'llamacpp' ? 'llama-server' : 'openai'
}
