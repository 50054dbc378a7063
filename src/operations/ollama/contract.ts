import { z } from 'zod'
import { explained, hidden, int64, jsonObject, jsonValue, longList, plainText } from '../../domain/fields.ts'
import { conversationFields } from '../generation/conversation-fields.ts'
import { refused } from '../generation/refused-fields.ts'
import { maxLogprobs, maxTokenCount, samplingFields } from '../generation/sampling-fields.ts'
import { documented, flag, integer, number, optIn } from '../generation/scalars.ts'
import { unused } from '../generation/unused-fields.ts'

/** The requests of Ollama's clients. `later.ts` loads this file with the first of them. */

const count = () => integer(-maxTokenCount, maxTokenCount)

/** Settings of the engine, which the operator chooses here. */
const engineCount = () => unused(count(), 'The operator sets up the engine.')
const engineSwitch = () => unused(flag(), 'The operator sets up the engine.', false)

/** A way to draw tokens that would change the answer. Only the value that turns it off is accepted. */
const only = (off: number, name: string) =>
  documented(
    number(z.number())
      .refine((value) => value === off, `is not supported here; only ${off}, which turns ${name} off`)
      .nullish(),
    `Only ${off}, which turns ${name} off.`,
    { effect: 'partly' },
  )

export const Options = z.object({
  temperature: samplingFields.temperature,
  top_p: documented(number(z.number().min(0).max(1)).nullish(), 'As there; 0 takes the most likely token.'),
  top_k: samplingFields.top_k,
  min_p: samplingFields.min_p,
  seed: documented(int64().nullish(), 'The same seed repeats the same draws; -1 means no seed.'),
  presence_penalty: samplingFields.presence_penalty,
  frequency_penalty: samplingFields.frequency_penalty,
  repeat_penalty: samplingFields.repetition_penalty,
  repeat_last_n: documented(
    integer(-1, maxTokenCount).nullish(),
    '0 turns `repeat_penalty` off. Otherwise it looks at all tokens, and a window is named as ignored.',
    { effect: 'partly' },
  ),
  num_predict: documented(
    integer(-2, maxTokenCount).nullish(),
    'The most tokens of the answer; from 0 down, as many as the context leaves. It is lowered to that.',
  ),
  num_ctx: documented(
    integer(0, maxTokenCount).nullish(),
    'The context is that of the model; more is named as ignored.',
    { effect: 'partly' },
  ),
  stop: samplingFields.stop,
  typical_p: only(1, 'typical sampling'),
  tfs_z: only(1, 'tail-free sampling'),
  mirostat: only(0, 'Mirostat'),
  mirostat_tau: unused(number(), 'Of Mirostat.'),
  mirostat_eta: unused(number(), 'Of Mirostat.'),
  penalize_newline: unused(flag(), 'Line breaks count as other tokens.', false),
  num_keep: unused(count(), 'Nothing is removed from a conversation.'),
  num_batch: engineCount(),
  num_gpu: engineCount(),
  main_gpu: engineCount(),
  num_thread: engineCount(),
  numa: engineSwitch(),
  low_vram: engineSwitch(),
  f16_kv: engineSwitch(),
  logits_all: engineSwitch(),
  vocab_only: engineSwitch(),
  use_mmap: engineSwitch(),
  use_mlock: engineSwitch(),
  embedding_only: engineSwitch(),
})
export type Options = z.output<typeof Options>

const images = () =>
  documented(
    z.array(z.string()).max(1_024).nullish(),
    'Pictures in base64, for a model on a server elsewhere that reads them; others refuse them.',
  )

export const Message = z.object(
  explained({
    role: [plainText(64).min(1), '`system`, `user`, `assistant` or `tool`.'],
    content: [z.string().nullish(), 'The text.'],
    thinking: [z.string().nullish(), 'The thought of an earlier answer.'],
    images: [images(), 'Pictures in base64.'],
    tool_calls: [
      z
        .array(
          z.object({
            id: z.string().max(256).nullish(),
            type: z.literal('function').nullish(),
            function: z.object({
              index: integer(0, maxTokenCount).nullish(),
              name: plainText(256).min(1),
              arguments: jsonObject().nullish(),
            }),
          }),
        )
        .max(128)
        .nullish(),
      'The calls of an earlier answer.',
    ],
    tool_name: [z.string().max(256).nullish(), 'The tool whose result this is.'],
    tool_call_id: [z.string().max(256).nullish(), 'The call whose result this is.'],
  }),
)
export type Message = z.output<typeof Message>

/** Under the name that the client knows, with or without `:latest`. */
const model = () =>
  documented(
    z.string().max(256).nullish(),
    'A served name, with or without `:latest`. If it is null or empty, the first model answers.',
  )

const keepAlive = () =>
  unused(
    z.union([z.number(), z.string().max(64)], { error: 'expected a number or a string' }),
    'The server decides how long a model stays loaded.',
  )

const answerFields = {
  model: model(),
  stream: documented(flag().nullish(), 'One JSON object per line, or one in all.', { initial: true }),
  format: documented(
    jsonValue().nullish(),
    '`"json"`, or a JSON Schema that the answer fits (docs/structured-output.md).',
  ),
  options: documented(Options.nullish(), 'See below.'),
  think: documented(
    z
      .union([z.boolean(), z.enum(['low', 'medium', 'high', 'max'])], {
        error: 'expected true, false, "low", "medium", "high" or "max"',
      })
      .nullish(),
    'Turns thinking on or off, or is its effort. Refused where the model has no thoughts, unless false.',
  ),
  logprobs: documented(optIn(), 'Returns the log-probability of each token.'),
  top_logprobs: documented(integer(0, maxLogprobs).nullish(), 'As in chat completions.', { initial: 0 }),
  store: documented(
    flag().nullish(),
    'Whether the answer becomes a call (docs/recording.md). Ollama has no such field.',
  ),
  keep_alive: keepAlive(),
  truncate: unused(flag(), 'A conversation that does not fit is refused.', false),
  shift: unused(flag(), 'The same.', false),
}

/** Ollama has no such field. `ollama-ai-provider-v2` sends it as OpenAI's Responses have it. */
const NamedTool = z.object({ type: z.literal('function'), name: z.string().max(256) })
const ToolChoice = z.union([z.enum(['none', 'auto', 'required']), NamedTool], {
  error: 'expected "none", "auto", "required", or {"type": "function", "name": …}',
})

export const OllamaChatBody = z.object({
  ...answerFields,
  messages: documented(
    longList(Message).nullish(),
    'The conversation. Without one the model is loaded, and nothing else happens.',
  ),
  tools: conversationFields.tools,
  tool_choice: hidden(ToolChoice.nullish()),
})
export type OllamaChatBody = z.output<typeof OllamaChatBody>

export const GenerateBody = z.object({
  ...answerFields,
  prompt: documented(z.string().nullish(), 'The text of the user. Without one the model is loaded.'),
  suffix: documented(
    z.string().nullish(),
    'The text after the gap that the answer fills, for a model with tokens for it.',
  ),
  system: documented(z.string().nullish(), 'The system message.'),
  images: images(),
  raw: documented(optIn(), 'Continues the prompt as it is, without the template of the model.'),
  template: refused('use raw with the whole prompt'),
  context: documented(
    z
      .array(integer(0, maxTokenCount))
      .max(0, 'is not supported here; send the whole conversation to /api/chat')
      .nullish(),
    'Only empty: /api/chat takes a whole conversation.',
    { effect: 'refused' },
  ),
  width: refused('leave it out, because answers are text'),
  height: refused('leave it out, because answers are text'),
  steps: refused('leave it out, because answers are text'),
})
export type GenerateBody = z.output<typeof GenerateBody>

const pooledFields = {
  model: model(),
  options: documented(Options.nullish(), 'Without effect here.'),
  keep_alive: keepAlive(),
}

export const EmbedBody = z.object({
  ...pooledFields,
  input: documented(
    z
      .union([z.string(), z.array(z.string()).max(2_048)], {
        error: 'expected a string or a list of at most 2048 strings',
      })
      .nullish(),
    'A text, or a list of texts. Without one the model is loaded.',
  ),
  truncate: documented(flag().nullish(), 'If false, an input that is too long is refused.', {
    initial: true,
  }),
  dimensions: documented(integer(1, maxTokenCount).nullish(), 'As in embeddings.'),
})
export type EmbedBody = z.output<typeof EmbedBody>

export const PromptEmbedBody = z.object({
  ...pooledFields,
  prompt: documented(z.string().nullish(), 'A text. Without one the model is loaded.'),
})
export type PromptEmbedBody = z.output<typeof PromptEmbedBody>

const shownModel = () =>
  documented(z.string().max(256).nullish(), 'A served name, with or without `:latest`. Required.')

export const ShowBody = z.object({
  model: shownModel(),
  name: documented(z.string().max(256).nullish(), 'The older name of `model`.'),
  verbose: unused(flag(), 'Lists of the vocabulary are never returned.', false),
  system: unused(z.string(), 'The model is shown as it is.'),
  template: unused(z.string(), 'The same.'),
  options: unused(jsonObject(), 'The same.'),
})
export type ShowBody = z.output<typeof ShowBody>

export const PullBody = z.object({
  model: shownModel(),
  name: documented(z.string().max(256).nullish(), 'The older name of `model`.'),
  stream: documented(flag().nullish(), 'One JSON object per line, or one in all.', { initial: true }),
  insecure: unused(flag(), 'Nothing is downloaded.', false),
})
export type PullBody = z.output<typeof PullBody>
