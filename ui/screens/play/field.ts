/** A field of a chat completion, as its contract has it. */
export interface RequestField {
  name: string
  /** `texts` is a list of texts; `json` is anything else that is not a single value. */
  kind: 'boolean' | 'number' | 'text' | 'choice' | 'texts' | 'json'
  /** Its type and range in words. */
  range: string
  says: string
  /** The value that applies where it is absent, as JSON. */
  initial?: string
  /** The values of a choice; a `json` field may accept some as well. */
  choices?: readonly string[]
  effect: 'honoured' | 'partly' | 'none' | 'refused'
}

/** What a field is called here, where the words of its name say too little. */
const labels: Record<string, string> = {
  n: 'Number of answers',
  max_completion_tokens: 'Longest answer, in tokens',
  min_tokens: 'Shortest answer, in tokens',
  max_tokens: 'Longest answer, by its older name',
  stop: 'Texts that end the answer',
  stop_token_ids: 'Tokens that end the answer',
  ignore_eos: 'Ignore the end token',
  include_stop_str_in_output: 'Keep the stop text',
  logprobs: 'Probabilities of tokens',
  top_logprobs: 'Alternatives of each token',
  prompt_logprobs: 'Probabilities of the prompt',
  logit_bias: 'Bias of tokens',
  allowed_token_ids: 'Allowed tokens',
  bad_words: 'Banned texts',
  response_format: 'Form of the answer',
  structured_outputs: 'More forms of the answer',
  tool_choice: 'Which tool is called',
  parallel_tool_calls: 'Several calls at once',
  reasoning_effort: 'Thinking effort',
  thinking_token_budget: 'Longest thought, in tokens',
  include_reasoning: 'Show thoughts',
  chat_template_kwargs: 'Variables of the chat template',
  echo: 'Begin with the last message',
}

export const labelOf = (name: string): string =>
  labels[name] ?? `${name.charAt(0).toUpperCase()}${name.slice(1).replaceAll('_', ' ')}`
