/** Servers with the OpenAI API, by what else they accept and what they return; and those with Anthropic's. */
export const upstreamKinds = ['heddle', 'vllm', 'llama-server', 'openai', 'anthropic'] as const
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

/** A field that some servers know. */
interface SomeField {
  takenBy: readonly UpstreamKind[]
  /** Whether the value may be left out where the field is not known; any other is refused there. */
  asksNothing(value: unknown, isText: boolean): boolean
  /** What the server gets is written by upstream-request.ts instead of passed on. */
  isWritten?: true
}

const likeVllm = ['heddle', 'vllm'] as const
const likeLlama = [...likeVllm, 'llama-server'] as const
const likeOpenai = [...likeLlama, 'openai'] as const

const isFalse = (value: unknown) => value === false
const isTrue = (value: unknown) => value === true
const isZero = (value: unknown) => value === 0
const isOne = (value: unknown) => value === 1
const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0
const never = () => false
const always = () => true
const isNothing = (content: string | { text: string }[]) =>
  typeof content === 'string' ? content === '' : content.every(({ text }) => text === '')

/** Fields that some servers accept, each with what a server without it makes of it. */
export const someFields: Readonly<Record<string, SomeField>> = {
  frequency_penalty: { takenBy: likeOpenai, asksNothing: isZero },
  presence_penalty: { takenBy: likeOpenai, asksNothing: isZero },
  top_k: {
    takenBy: [...likeLlama, 'anthropic'],
    asksNothing: (value) => typeof value === 'number' && value <= 0,
  },
  min_p: { takenBy: likeLlama, asksNothing: isZero },
  repetition_penalty: { takenBy: likeLlama, asksNothing: isOne },
  ignore_eos: { takenBy: likeLlama, asksNothing: isFalse },
  bad_words: { takenBy: likeVllm, asksNothing: isEmpty },
  allowed_token_ids: { takenBy: likeVllm, asksNothing: never },
  min_tokens: { takenBy: likeVllm, asksNothing: isZero },
  stop_token_ids: { takenBy: likeVllm, asksNothing: isEmpty },
  include_stop_str_in_output: { takenBy: likeVllm, asksNothing: isFalse },
  skip_special_tokens: { takenBy: likeVllm, asksNothing: isTrue },
  spaces_between_special_tokens: { takenBy: likeVllm, asksNothing: isTrue },
  truncate_prompt_tokens: { takenBy: likeVllm, asksNothing: never },
  // Without the field above it asks for nothing.
  truncation_side: { takenBy: likeVllm, asksNothing: always },
  logprob_token_ids: { takenBy: likeVllm, asksNothing: never },
  cache_salt: { takenBy: likeVllm, asksNothing: never },
  priority: { takenBy: likeVllm, asksNothing: isZero },
  use_beam_search: { takenBy: likeVllm, asksNothing: isFalse },
  length_penalty: { takenBy: likeVllm, asksNothing: isOne },
  repetition_detection: {
    takenBy: likeVllm,
    asksNothing: (value) => !(value as { max_pattern_size?: number }).max_pattern_size,
  },
  return_prompt_text: { takenBy: likeVllm, asksNothing: isFalse },
  add_generation_prompt: { takenBy: [...likeVllm, 'anthropic'], asksNothing: isTrue },
  continue_final_message: { takenBy: [...likeVllm, 'anthropic'], asksNothing: isFalse },
  add_special_tokens: { takenBy: likeVllm, asksNothing: (value, isText) => value === isText },
  chat_template: { takenBy: likeVllm, asksNothing: never },
  thinking_token_budget: { takenBy: [...likeVllm, 'anthropic'], asksNothing: never },
  structured_outputs: { takenBy: likeVllm, asksNothing: never },
  prediction: {
    takenBy: ['heddle', 'openai'],
    asksNothing: (value) => isNothing((value as { content: string | { text: string }[] }).content),
  },

  prompt_logprobs: { takenBy: likeVllm, asksNothing: never, isWritten: true },
  return_token_ids: { takenBy: likeVllm, asksNothing: isFalse, isWritten: true },
  return_tokens_as_token_ids: { takenBy: likeVllm, asksNothing: isFalse, isWritten: true },
  chat_template_kwargs: { takenBy: likeLlama, asksNothing: always, isWritten: true },
  documents: { takenBy: likeVllm, asksNothing: always, isWritten: true },
  continuous_usage_stats: { takenBy: likeVllm, asksNothing: always, isWritten: true },

  // Without an effect where they are not known, and on an engine of this machine.
  verbosity: { takenBy: ['heddle', 'openai'], asksNothing: always },
  user: { takenBy: ['openai', 'anthropic'], asksNothing: always },
  safety_identifier: { takenBy: ['openai'], asksNothing: always },
  service_tier: { takenBy: ['openai'], asksNothing: always },
  prompt_cache_key: { takenBy: ['openai'], asksNothing: always },
  prompt_cache_options: { takenBy: ['openai'], asksNothing: always },
  prompt_cache_retention: { takenBy: ['openai'], asksNothing: always },
  kv_transfer_params: { takenBy: ['vllm'], asksNothing: always },
  ec_transfer_params: { takenBy: ['vllm'], asksNothing: always },
  mm_processor_kwargs: { takenBy: ['vllm'], asksNothing: always },
  media_io_kwargs: { takenBy: ['vllm'], asksNothing: always },
  vllm_xargs: { takenBy: ['vllm'], asksNothing: always },
}

const takenBy = (kind: UpstreamKind): ReadonlySet<string> =>
  new Set(Object.keys(someFields).filter((name) => someFields[name]?.takenBy.includes(kind)))

const returnsText = { returnsTokens: false, returnsLogprobIds: false, tokenizes: false, names: {} }

export const kindsOfUpstreams: Record<UpstreamKind, KindOfUpstream> = {
  heddle: {
    takes: takenBy('heddle'),
    returnsTokens: true,
    returnsLogprobIds: true,
    tokenizes: true,
    names: {},
  },
  vllm: {
    takes: takenBy('vllm'),
    returnsTokens: true,
    returnsLogprobIds: false,
    tokenizes: true,
    names: {},
  },
  'llama-server': {
    ...returnsText,
    takes: takenBy('llama-server'),
    names: { repetition_penalty: 'repeat_penalty' },
  },
  openai: { ...returnsText, takes: takenBy('openai') },
  anthropic: { ...returnsText, takes: takenBy('anthropic') },
}

/**
 * The kind of a server, from the owner that it gives for its models. Any other is assumed to know only the fields of
 * OpenAI.
 */
export function kindOfOwner(owner: unknown): UpstreamKind {
  if (owner === 'heddle' || owner === 'vllm') return owner
  return owner === 'llamacpp' ? 'llama-server' : 'openai'
}

/** The kind of a server whose address says it. */
export function kindOfUrl(url: string): UpstreamKind | undefined {
  return new URL(url).hostname === 'api.anthropic.com' ? 'anthropic' : undefined
}
