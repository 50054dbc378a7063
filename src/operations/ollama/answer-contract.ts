import { z } from 'zod'
import { answer } from '../../domain/fields.ts'

/** The answers to Ollama's clients. */

const Logprob = z.object({ token: z.string(), logprob: z.number(), bytes: z.array(z.int()) })

const line = {
  model: z.string().describe('The name that the request has.'),
  created_at: z.iso.datetime(),
  done: z.boolean(),
  logprobs: z.array(Logprob.extend({ top_logprobs: z.array(Logprob) })).optional(),
}

/** Of the last line, and of a whole answer. Durations are nanoseconds. */
const ended = {
  done_reason: z.string().optional().describe('`stop`, `length`, `load`, `unload`, and others of ours.'),
  total_duration: z.int().optional(),
  load_duration: z.int().optional(),
  prompt_eval_count: z.int().optional(),
  prompt_eval_duration: z.int().optional(),
  eval_count: z.int().optional(),
  eval_duration: z.int().optional(),
}

const Message = z.object({
  role: z.literal('assistant'),
  content: z.string(),
  thinking: z.string().optional(),
  tool_calls: z
    .array(
      z.object({
        id: z.string(),
        function: z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) }),
      }),
    )
    .optional(),
})

export const OllamaChatAnswer = answer('The next message of the conversation.', {
  ...line,
  message: Message,
  ...ended,
})

export const GenerateAnswer = answer('The answer to the prompt.', {
  ...line,
  response: z.string(),
  thinking: z.string().optional(),
  context: z.array(z.int()).max(0).describe('Always empty, because only /api/chat continues a conversation.'),
  ...ended,
})

export const EmbedAnswer = answer('A vector of length 1 for each input, in order.', {
  model: z.string(),
  embeddings: z.array(z.array(z.number())),
  total_duration: z.int(),
  load_duration: z.int(),
  prompt_eval_count: z.int(),
})

export const PromptEmbedAnswer = answer('The vector of the text.', { embedding: z.array(z.number()) })

const Details = z.object({
  parent_model: z.string(),
  format: z.string(),
  family: z.string(),
  families: z.array(z.string()),
  parameter_size: z.string(),
  quantization_level: z.string(),
})
export type Details = z.output<typeof Details>

const card = {
  name: z.string(),
  model: z.string(),
  size: z.int(),
  digest: z.string().describe('Changes when the same request may be answered differently.'),
  details: Details,
}

export const TagsAnswer = answer('The served models, under each of their names.', {
  models: z.array(z.object({ ...card, modified_at: z.iso.datetime() })),
})
export type TagsAnswer = z.output<typeof TagsAnswer>

export const ProcessesAnswer = answer('The models that are loaded.', {
  models: z.array(
    z.object({ ...card, expires_at: z.iso.datetime(), size_vram: z.int(), context_length: z.int() }),
  ),
})
export type ProcessesAnswer = z.output<typeof ProcessesAnswer>

export const ShowAnswer = answer('The model.', {
  license: z.string(),
  modelfile: z.string(),
  parameters: z.string(),
  template: z.string(),
  modified_at: z.iso.datetime(),
  details: Details,
  model_info: z.record(z.string(), z.unknown()),
  capabilities: z.array(z.enum(['completion', 'tools', 'insert', 'vision', 'thinking', 'embedding'])),
  thinking: z.object({ values: z.array(z.boolean()), default: z.boolean() }).optional(),
})
export type ShowAnswer = z.output<typeof ShowAnswer>

export const VersionAnswer = answer('The version of Ollama that this wire is like.', { version: z.string() })

export const PullAnswer = answer('The model is served.', { status: z.literal('success') })
