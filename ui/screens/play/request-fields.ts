// Made by `npm run docs:generate`; do not edit.
import type { RequestField } from './field.ts'

export const requestFields: readonly RequestField[] = [
 {
  "name": "model",
  "kind": "text",
  "range": "string of at most 256 characters",
  "says": "A served name. If it is null or empty, the first model answers.",
  "effect": "honoured"
 },
 {
  "name": "add_generation_prompt",
  "kind": "boolean",
  "range": "boolean",
  "says": "Whether the template opens a turn of the assistant. If false, the answer has the role of the last message.",
  "initial": "true",
  "effect": "honoured"
 },
 {
  "name": "continue_final_message",
  "kind": "boolean",
  "range": "boolean",
  "says": "The answer continues the last message. Needs `\"add_generation_prompt\": false`. A constraint applies to both together (docs/structured-output.md).",
  "initial": "false",
  "effect": "honoured"
 },
 {
  "name": "chat_template",
  "kind": "text",
  "range": "string of at most 131072 characters",
  "says": "A Jinja template in place of the model’s own, limited to one second of processor time and in size. HEDDLE_REQUEST_TEMPLATES=off refuses it.",
  "effect": "honoured"
 },
 {
  "name": "chat_template_kwargs",
  "kind": "json",
  "range": "object",
  "says": "Variables for the template; a field of the same name that is not null takes precedence. `chat_template` and `tokenize` are refused.",
  "effect": "honoured"
 },
 {
  "name": "documents",
  "kind": "json",
  "range": "list of objects of at most 1024 entries",
  "says": "Objects with string values, for templates that show documents.",
  "effect": "honoured"
 },
 {
  "name": "reasoning_effort",
  "kind": "choice",
  "range": "\"none\", \"minimal\", \"low\", \"medium\", \"high\", \"xhigh\", \"max\"",
  "says": "`none` turns thinking off if the template can, the others on (docs/reasoning.md).",
  "choices": [
   "none",
   "minimal",
   "low",
   "medium",
   "high",
   "xhigh",
   "max"
  ],
  "effect": "honoured"
 },
 {
  "name": "verbosity",
  "kind": "choice",
  "range": "\"low\", \"medium\", \"high\"",
  "says": "A variable for templates that know it.",
  "choices": [
   "low",
   "medium",
   "high"
  ],
  "effect": "honoured"
 },
 {
  "name": "tools",
  "kind": "json",
  "range": "list of objects of at most 512 entries",
  "says": "The tools that the answer may call (docs/tools.md). Names have letters, digits and any of `_-.:/@`.",
  "effect": "honoured"
 },
 {
  "name": "prompt",
  "kind": "json",
  "range": "object",
  "says": "A prompt of the project: `{\"id\": …, \"version\": …, \"variables\": {…}}` (docs/prompts.md). It gives the first messages, and the fields that the request leaves out.",
  "effect": "honoured"
 },
 {
  "name": "echo",
  "kind": "boolean",
  "range": "boolean",
  "says": "Prepends the last message to the answer if both have the same role. Without a stream, adds `prompt_logprobs`, as in vLLM.",
  "initial": "false",
  "effect": "honoured"
 },
 {
  "name": "add_special_tokens",
  "kind": "boolean",
  "range": "boolean",
  "says": "Adds the model’s beginning-of-text and similar tokens to the rendered template.",
  "initial": "false",
  "effect": "honoured"
 },
 {
  "name": "include_reasoning",
  "kind": "boolean",
  "range": "boolean",
  "says": "If false, thoughts are left out, with their tokens and log-probabilities. They still count as usage.",
  "initial": "true",
  "effect": "honoured"
 },
 {
  "name": "thinking_token_budget",
  "kind": "number",
  "range": "integer from 0",
  "says": "The most tokens of a thought, which then ends. Needs a template with thoughts.",
  "effect": "honoured"
 },
 {
  "name": "max_completion_tokens",
  "kind": "number",
  "range": "integer from 1",
  "says": "The most tokens of an answer; as many as the context leaves if absent. More is refused.",
  "effect": "honoured"
 },
 {
  "name": "frequency_penalty",
  "kind": "number",
  "range": "number from -2 to 2",
  "says": "Subtracted from the logit of a token for each of its occurrences in the answer so far.",
  "initial": "0",
  "effect": "honoured"
 },
 {
  "name": "presence_penalty",
  "kind": "number",
  "range": "number from -2 to 2",
  "says": "Subtracted once from the logit of each token that occurs in the answer so far.",
  "initial": "0",
  "effect": "honoured"
 },
 {
  "name": "repetition_penalty",
  "kind": "number",
  "range": "number above 0",
  "says": "Divides positive logits, and multiplies negative ones, of tokens in the prompt or the answer so far.",
  "initial": "1",
  "effect": "honoured"
 },
 {
  "name": "temperature",
  "kind": "number",
  "range": "number from 0",
  "says": "0 always takes the most likely token. Values between 0 and 0.01 count as 0.01.",
  "initial": "1",
  "effect": "honoured"
 },
 {
  "name": "top_p",
  "kind": "number",
  "range": "number above 0 to 1",
  "says": "Draws from the fewest likely tokens whose probabilities add up to this value.",
  "initial": "1",
  "effect": "honoured"
 },
 {
  "name": "top_k",
  "kind": "number",
  "range": "integer from -1",
  "says": "Draws from this many of the most likely tokens; 0 and -1 mean all.",
  "initial": "0",
  "effect": "honoured"
 },
 {
  "name": "min_p",
  "kind": "number",
  "range": "number from 0 to 1",
  "says": "Draws from tokens with at least this fraction of the probability of the most likely token.",
  "initial": "0",
  "effect": "honoured"
 },
 {
  "name": "seed",
  "kind": "number",
  "range": "integer of 64 bits",
  "says": "The same seed repeats the same draws; choice i uses seed + i. -1 means no seed.",
  "effect": "honoured"
 },
 {
  "name": "n",
  "kind": "number",
  "range": "integer from 1 to 128",
  "says": "The number of independent answers; must be 1 with temperature 0. With `use_beam_search`, the width of the search.",
  "initial": "1",
  "effect": "honoured"
 },
 {
  "name": "logit_bias",
  "kind": "json",
  "range": "object",
  "says": "Maps token ids to values that are added to their logits. Values beyond ±100 count as ±100. At most 16384 entries.",
  "effect": "honoured"
 },
 {
  "name": "allowed_token_ids",
  "kind": "json",
  "range": "list of integers of at most 65536 entries",
  "says": "Only these tokens can be drawn. The answer can end by itself only if the end token is among them.",
  "effect": "honoured"
 },
 {
  "name": "bad_words",
  "kind": "texts",
  "range": "list of strings of at most 1024 entries",
  "says": "Texts that never appear in the answer, also inside a longer word (`small` bans `smaller`), case-sensitive. At most 65536 characters in all.",
  "initial": "[]",
  "effect": "honoured"
 },
 {
  "name": "use_beam_search",
  "kind": "boolean",
  "range": "boolean",
  "says": "Searches for the most likely answers with `n` beams, at most HEDDLE_PARALLEL. Penalties, top_*, seed, stop texts and logit_bias have no effect. Not allowed with a constraint or `repetition_detection`.",
  "initial": "false",
  "effect": "honoured"
 },
 {
  "name": "length_penalty",
  "kind": "number",
  "range": "number",
  "says": "In a beam search, the sum of log-probabilities is divided by this power of the length of prompt and answer in tokens.",
  "initial": "1",
  "effect": "honoured"
 },
 {
  "name": "max_tokens",
  "kind": "number",
  "range": "integer from 1",
  "says": "The older name of `max_completion_tokens`, which takes precedence.",
  "effect": "honoured"
 },
 {
  "name": "min_tokens",
  "kind": "number",
  "range": "integer from 0",
  "says": "Nothing ends the answer before this many tokens. More than its maximum is refused.",
  "initial": "0",
  "effect": "honoured"
 },
 {
  "name": "stop",
  "kind": "texts",
  "range": "string of at most 4096 characters or list of strings of at most 1024 entries",
  "says": "The answer ends before the first of these texts. `stop_reason` names it.",
  "initial": "[]",
  "effect": "honoured"
 },
 {
  "name": "stop_token_ids",
  "kind": "json",
  "range": "list of integers of at most 4096 entries",
  "says": "The answer ends at the first of these tokens. `stop_reason` names it.",
  "effect": "honoured"
 },
 {
  "name": "ignore_eos",
  "kind": "boolean",
  "range": "boolean",
  "says": "If true, the end token of the model does not end the answer.",
  "initial": "false",
  "effect": "honoured"
 },
 {
  "name": "include_stop_str_in_output",
  "kind": "boolean",
  "range": "boolean",
  "says": "Keeps the stop text, or the text of the stop token, in the answer.",
  "initial": "false",
  "effect": "honoured"
 },
 {
  "name": "repetition_detection",
  "kind": "json",
  "range": "object",
  "says": "Ends the answer when its last tokens are `min_count` (from 2) times a pattern of `min_pattern_size` to `max_pattern_size` (0: off) tokens.",
  "effect": "honoured"
 },
 {
  "name": "skip_special_tokens",
  "kind": "boolean",
  "range": "boolean",
  "says": "Removes the text of special tokens from the answer.",
  "initial": "true",
  "effect": "honoured"
 },
 {
  "name": "spaces_between_special_tokens",
  "kind": "boolean",
  "range": "boolean",
  "says": "Adds spaces between special tokens when their text is shown.",
  "initial": "true",
  "effect": "honoured"
 },
 {
  "name": "truncate_prompt_tokens",
  "kind": "number",
  "range": "integer from -1",
  "says": "Keeps only so many tokens of the prompt; -1: as many as fit with the answer.",
  "effect": "honoured"
 },
 {
  "name": "truncation_side",
  "kind": "choice",
  "range": "\"left\", \"right\"",
  "says": "The end of the prompt that is cut off: `left` keeps its last tokens, `right` its first.",
  "initial": "\"left\"",
  "choices": [
   "left",
   "right"
  ],
  "effect": "honoured"
 },
 {
  "name": "cache_salt",
  "kind": "text",
  "range": "string of at most 1024 characters",
  "says": "Among users who share cached prompts (HEDDLE_PROMPT_SHARING), only requests with the same salt, or all without one, share.",
  "effect": "honoured"
 },
 {
  "name": "session_id",
  "kind": "text",
  "range": "string of at most 512 characters",
  "says": "The thread of the call, unless the header `x-heddle-thread` names one.",
  "effect": "honoured"
 },
 {
  "name": "stream_interval",
  "kind": "number",
  "range": "integer from 1",
  "says": "The fewest tokens of a chunk, but for the first and the last of a choice.",
  "initial": "1",
  "effect": "honoured"
 },
 {
  "name": "priority",
  "kind": "number",
  "range": "integer",
  "says": "A lower value runs first. Only 0 unless HEDDLE_PRIORITY=on.",
  "initial": "0",
  "effect": "honoured"
 },
 {
  "name": "prediction",
  "kind": "json",
  "range": "object",
  "says": "The expected content of the answer, such as the text that it edits: `{\"type\": \"content\", \"content\": …}`, from which tokens are guessed (docs/speculation.md). Not allowed with `use_beam_search`.",
  "effect": "honoured"
 },
 {
  "name": "logprobs",
  "kind": "boolean",
  "range": "boolean",
  "says": "Returns the log-probability of each token, before any sampling setting.",
  "initial": "false",
  "effect": "honoured"
 },
 {
  "name": "top_logprobs",
  "kind": "number",
  "range": "integer from 0 to 20",
  "says": "The number of most likely tokens at each position. Needs `logprobs`. Without a stream, `n` × `max_tokens` × (`top_logprobs` + 1) is at most 1000000.",
  "initial": "0",
  "effect": "honoured"
 },
 {
  "name": "return_prompt_text",
  "kind": "boolean",
  "range": "boolean",
  "says": "Returns the rendered template as `prompt_text` (in the first chunk of a stream).",
  "initial": "false",
  "effect": "honoured"
 },
 {
  "name": "logprob_token_ids",
  "kind": "json",
  "range": "list of integers of at most 128 entries",
  "says": "Returns these tokens and the drawn one in `top_logprobs`, in place of the most likely ones. Needs `logprobs`.",
  "effect": "honoured"
 },
 {
  "name": "prompt_logprobs",
  "kind": "number",
  "range": "integer from 0 to 20",
  "says": "The same for the prompt, which is then not taken from the cache. Not in a stream.",
  "effect": "honoured"
 },
 {
  "name": "return_token_ids",
  "kind": "boolean",
  "range": "boolean",
  "says": "Returns the token ids of the prompt (in the first chunk of a stream) and of the answer.",
  "initial": "false",
  "effect": "honoured"
 },
 {
  "name": "return_tokens_as_token_ids",
  "kind": "boolean",
  "range": "boolean",
  "says": "Writes tokens in log-probabilities as `token_id:<id>`.",
  "initial": "false",
  "effect": "honoured"
 },
 {
  "name": "stream",
  "kind": "boolean",
  "range": "boolean",
  "says": "Sends the answer as server-sent events.",
  "initial": "false",
  "effect": "honoured"
 },
 {
  "name": "stream_options",
  "kind": "json",
  "range": "object",
  "says": "`include_usage` adds a last chunk with the usage and no choices; `continuous_usage_stats` adds the usage so far to each chunk. Needs `stream`.",
  "effect": "honoured"
 },
 {
  "name": "request_id",
  "kind": "text",
  "range": "string of at most 256 characters",
  "says": "The `id` of the answer ends in this value, else in the header X-Request-Id, else in a random one.",
  "effect": "honoured"
 },
 {
  "name": "store",
  "kind": "boolean",
  "range": "boolean",
  "says": "Whether the answer becomes a call: `true` requests it under HEDDLE_RECORD=asked, and is a 400 where nothing is recorded.",
  "effect": "honoured"
 },
 {
  "name": "metadata",
  "kind": "json",
  "range": "object",
  "says": "Up to 16 strings of up to 512 characters, under names of up to 64. Stored in `attributes.heddle.metadata` of the call.",
  "effect": "honoured"
 },
 {
  "name": "tool_choice",
  "kind": "json",
  "range": "\"none\", \"auto\", \"required\", \"any\" or object",
  "says": "Whether the answer may call tools (`auto`, the default with tools), must (`required`, Mistral’s `any`, a function by name, or `allowed_tools`), or must not (`none`). HEDDLE_TOOL_CHOICE=none refuses all but `none`.",
  "initial": "\"none\"",
  "choices": [
   "none",
   "auto",
   "required",
   "any"
  ],
  "effect": "honoured"
 },
 {
  "name": "parallel_tool_calls",
  "kind": "boolean",
  "range": "boolean",
  "says": "If false, the answer ends after its first call.",
  "initial": "true",
  "effect": "honoured"
 },
 {
  "name": "functions",
  "kind": "json",
  "range": "list of objects of at most 512 entries",
  "says": "The older form of `tools`: the answer has one `function_call`.",
  "effect": "honoured"
 },
 {
  "name": "function_call",
  "kind": "json",
  "range": "\"none\", \"auto\" or object",
  "says": "The older form of `tool_choice`.",
  "choices": [
   "none",
   "auto"
  ],
  "effect": "honoured"
 },
 {
  "name": "response_format",
  "kind": "json",
  "range": "object",
  "says": "The form of the answer (docs/structured-output.md): `text`; `json_object`, with an optional `schema`; `json_schema`; `structural_tag`. `type` may be left out with a `json_schema`.",
  "effect": "honoured"
 },
 {
  "name": "structured_outputs",
  "kind": "json",
  "range": "object",
  "says": "One of `json` (a JSON Schema or its text), `regex`, `choice`, `grammar`, `json_object` and `structural_tag` (docs/structured-output.md), and how JSON is written: `whitespace_pattern`, `disable_any_whitespace`, `disable_additional_properties`, `any_order`.",
  "effect": "honoured"
 },
 {
  "name": "guided_json",
  "kind": "json",
  "range": "null",
  "says": "Not supported: use structured_outputs.json, or response_format.",
  "effect": "refused"
 },
 {
  "name": "guided_json_object",
  "kind": "json",
  "range": "null",
  "says": "Not supported: use structured_outputs.json_object, or response_format.",
  "effect": "refused"
 },
 {
  "name": "guided_regex",
  "kind": "json",
  "range": "null",
  "says": "Not supported: use structured_outputs.regex.",
  "effect": "refused"
 },
 {
  "name": "guided_choice",
  "kind": "json",
  "range": "null",
  "says": "Not supported: use structured_outputs.choice.",
  "effect": "refused"
 },
 {
  "name": "guided_grammar",
  "kind": "json",
  "range": "null",
  "says": "Not supported: use structured_outputs.grammar.",
  "effect": "refused"
 },
 {
  "name": "guided_whitespace_pattern",
  "kind": "json",
  "range": "null",
  "says": "Not supported: use structured_outputs.whitespace_pattern.",
  "effect": "refused"
 },
 {
  "name": "guided_decoding_backend",
  "kind": "json",
  "range": "null",
  "says": "Not supported: leave it out, because there is only one way to enforce a constraint.",
  "effect": "refused"
 },
 {
  "name": "modalities",
  "kind": "texts",
  "range": "list of strings of at most 16 entries",
  "says": "Only `[\"text\"]`: answers are text.",
  "effect": "honoured"
 },
 {
  "name": "audio",
  "kind": "json",
  "range": "null",
  "says": "Not supported: leave it out, because answers are text.",
  "effect": "refused"
 },
 {
  "name": "web_search_options",
  "kind": "json",
  "range": "null",
  "says": "Not supported: offer a search function in tools.",
  "effect": "refused"
 },
 {
  "name": "moderation",
  "kind": "json",
  "range": "null",
  "says": "Not supported: ask a moderation model separately, because answers are not moderated.",
  "effect": "refused"
 },
 {
  "name": "user",
  "kind": "text",
  "range": "string of at most 1024 characters",
  "says": "The caller is identified by its key.",
  "effect": "none"
 },
 {
  "name": "safety_identifier",
  "kind": "text",
  "range": "string of at most 1024 characters",
  "says": "As `user`.",
  "effect": "none"
 },
 {
  "name": "service_tier",
  "kind": "text",
  "range": "string of at most 64 characters",
  "says": "There is only one tier.",
  "effect": "none"
 },
 {
  "name": "prompt_cache_key",
  "kind": "text",
  "range": "string of at most 1024 characters",
  "says": "Prompts are cached without it; `cache_salt` separates them.",
  "effect": "none"
 },
 {
  "name": "prompt_cache_options",
  "kind": "json",
  "range": "object",
  "says": "As `prompt_cache_key`.",
  "effect": "none"
 },
 {
  "name": "prompt_cache_retention",
  "kind": "text",
  "range": "string of at most 64 characters",
  "says": "Prompts stay in the cache as long as there is room.",
  "effect": "none"
 },
 {
  "name": "kv_transfer_params",
  "kind": "json",
  "range": "object",
  "says": "For servers that compute prompts elsewhere.",
  "effect": "none"
 },
 {
  "name": "ec_transfer_params",
  "kind": "json",
  "range": "object",
  "says": "The same for images.",
  "effect": "none"
 },
 {
  "name": "mm_processor_kwargs",
  "kind": "json",
  "range": "object",
  "says": "For models that accept images.",
  "effect": "none"
 },
 {
  "name": "media_io_kwargs",
  "kind": "json",
  "range": "object",
  "says": "The same.",
  "effect": "none"
 },
 {
  "name": "return_mm_kwargs",
  "kind": "boolean",
  "range": "boolean",
  "says": "The same.",
  "initial": "false",
  "effect": "none"
 },
 {
  "name": "return_token_offsets",
  "kind": "boolean",
  "range": "boolean",
  "says": "vLLM has it for prompts that are only rendered.",
  "initial": "false",
  "effect": "none"
 },
 {
  "name": "routed_experts_prompt_start",
  "kind": "number",
  "range": "integer from 0",
  "says": "No answer tells which experts computed it.",
  "effect": "none"
 },
 {
  "name": "watermarking",
  "kind": "boolean",
  "range": "boolean",
  "says": "Only `false`: answers have no watermark.",
  "initial": "false",
  "effect": "partly"
 },
 {
  "name": "engine_xargs",
  "kind": "json",
  "range": "object",
  "says": "Strings, numbers and lists of these, for extensions; there are none.",
  "effect": "none"
 },
 {
  "name": "vllm_xargs",
  "kind": "json",
  "range": "object",
  "says": "Another name of `engine_xargs`.",
  "effect": "none"
 }
]
