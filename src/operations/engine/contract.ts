import { z } from 'zod'
import { answer } from '../../domain/fields.ts'

const count = z.int().min(0)

const ServedModel = z.object({
  names: z
    .array(z.string())
    .describe('The names that requests may use as `model`. Empty until the model is loaded.'),
  tasks: z
    .array(z.enum(['answers', 'embeddings', 'ranking']))
    .describe('The tasks that the model can do. Empty until it is loaded.'),
  state: z.enum(['starting', 'ready', 'failed', 'unloaded']),
  doing: z
    .string()
    .nullable()
    .describe(
      'While the model starts, the current step, such as the progress of a download; after a failure, the reason; otherwise null.',
    ),
  card: z
    .object({
      context: count.describe('Maximum number of tokens of one conversation.'),
      device: z.string(),
      threads: count,
      parameters: count,
      vocabulary: count,
      model_bytes: count.describe('Size of the weights in bytes.'),
      created: count.describe('When the model was loaded, in seconds since 1970.'),
    })
    .nullable()
    .describe(
      'Null until the model is loaded. Its card under `/v1/models` says how it calls tools and whether it thinks.',
    ),
  slots: z
    .object({ total: count, running: count, waiting: count })
    .nullable()
    .describe(
      'Slots in total, answers that are being generated, and requests that wait. Null until the model is loaded.',
    ),
  tokens_per_second: z
    .number()
    .describe(
      'Tokens of answers per second, over the last ten seconds. Like the next three: of all users for admins, of your own requests for everyone else.',
    ),
  prompt_tokens: count.describe('Prompt tokens since the server started.'),
  cached_tokens: count.describe('Number of these tokens that were found in the cache.'),
  completion_tokens: count.describe('Tokens of answers since the server started.'),
  prompt_cache: z
    .object({
      prompts: count,
      bytes: count,
      bound: count.describe('Maximum size of the cache in bytes.'),
      restored: count.describe('Number of prompts that continued from a kept one.'),
      dropped: count.describe('Number of kept prompts that were evicted to make room for others.'),
      disk: z
        .object({
          prompts: count,
          bytes: count,
          bound: count,
          failed: count.describe('Number of prompts that could not be written; the log has the reasons.'),
        })
        .nullable()
        .describe('The part of the cache on disk. Null without HEDDLE_PROMPT_CACHE_DISK.'),
    })
    .nullable()
    .describe(
      'Computed prompts that are kept after their sequence was needed for another prompt. Null if none are kept, and for everyone but admins.',
    ),
  engine_bytes: count
    .nullable()
    .describe('Memory of the engine in bytes; null if unknown, and for everyone but admins.'),
})

const RunningAnswer = z.object({
  model: z.string(),
  user: z.string().describe('The user that sent the request.'),
  state: z.enum(['waiting', 'writing']),
  is_background: z
    .boolean()
    .describe('Background work: the request comes from a judge, and no client waits for it.'),
  started_at: z.string(),
  tokens: count,
})

/** Most answers that are listed. */
export const maxAnswers = 200

export const EngineAnswer = answer('The state of the models, at most a second old.', {
  models: z.array(ServedModel).describe('Empty if HEDDLE_MODEL is none.'),
  list: z
    .object({
      read_at: z.string(),
      fault: z
        .string()
        .nullable()
        .describe(
          'Why the file could not be reloaded when it last changed; its previous content stays in effect. For admins.',
        ),
    })
    .nullable()
    .describe('The file of HEDDLE_MODELS; null if there is none.'),
  answers: z
    .array(RunningAnswer)
    .max(maxAnswers)
    .describe(
      `Requests that are being answered, oldest first: at most ${maxAnswers}. Everyone but admins sees only their own.`,
    ),
  answers_in_all: count,
  recording: z
    .enum(['all', 'asked', 'off'])
    .describe('Which of your answers are recorded as calls: all, those with `"store": true`, or none.'),
  server: z.object({
    version: z.string(),
    started_at: z.string(),
    memory_bytes: count
      .nullable()
      .describe('Memory of the server itself, without its engines. Null for everyone but admins.'),
  }),
})
export type EngineAnswer = z.output<typeof EngineAnswer>

export const LoadAnswer = answer('The load of this server.', { server_load: z.int() })
