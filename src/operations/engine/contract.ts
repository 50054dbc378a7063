import { z } from 'zod'
import { answer } from '../../domain/fields.ts'

const count = z.int().min(0)

const ServedModel = z.object({
  names: z
    .array(z.string())
    .meta({ description: 'What `model` in a request may be. Empty until it is loaded.' }),
  tasks: z
    .array(z.enum(['answers', 'embeddings', 'ranking']))
    .meta({ description: 'What it can be asked for. Empty until it is loaded.' }),
  state: z.enum(['starting', 'ready', 'failed', 'unloaded']),
  doing: z.string().nullable().meta({
    description:
      'While it starts, what is done, such as the progress of a download; why it failed; else null.',
  }),
  card: z
    .object({
      context: count.meta({ description: 'Tokens that fit into one conversation.' }),
      device: z.string(),
      threads: count,
      parameters: count,
      vocabulary: count,
      model_bytes: count.meta({ description: 'Of its weights.' }),
      created: count.meta({ description: 'Seconds since 1970 when it was loaded.' }),
    })
    .nullable()
    .meta({
      description:
        'Null until it is loaded. How it calls tools and thinks is in its card under `/v1/models`.',
    }),
  slots: z.object({ total: count, running: count, waiting: count }).nullable().meta({
    description: 'Answers that are generated at once, and requests that wait. Null until it is loaded.',
  }),
  tokens_per_second: z.number().meta({ description: 'Of answers, over the last ten seconds.' }),
  prompt_tokens: count.meta({ description: 'Since the server started.' }),
  cached_tokens: count.meta({ description: 'Of these, those that were found in the cache.' }),
  completion_tokens: count.meta({ description: 'Since the server started.' }),
  prompt_cache: z
    .object({
      prompts: count,
      bytes: count,
      bound: count.meta({ description: 'Bytes that it may have.' }),
      restored: count.meta({ description: 'Prompts that went on from one that was kept.' }),
      dropped: count.meta({ description: 'Of those that were kept: the room was needed for others.' }),
      disk: z
        .object({
          prompts: count,
          bytes: count,
          bound: count,
          failed: count.meta({ description: 'They could not be written; the log says why.' }),
        })
        .nullable()
        .meta({ description: 'What of it is on disk. Null without HEDDLE_PROMPT_CACHE_DISK.' }),
    })
    .nullable()
    .meta({
      description:
        'What was read of prompts and is kept after its sequence was needed for another. Null where nothing is kept.',
    }),
  engine_bytes: count.nullable().meta({ description: 'Memory of its engine; null where that is not known.' }),
})

const RunningAnswer = z.object({
  model: z.string(),
  user: z
    .string()
    .nullable()
    .meta({ description: 'Null where it is somebody else, unless you are an admin.' }),
  state: z.enum(['waiting', 'writing']),
  is_background: z.boolean().meta({ description: 'Nobody waits for it: a judge asks.' }),
  started_at: z.string(),
  tokens: count,
})

/** Most answers that are listed. */
export const mostAnswers = 200

export const EngineAnswer = answer('How the models are doing. It is at most a second old.', {
  models: z.array(ServedModel).meta({ description: 'Empty where HEDDLE_MODEL is none.' }),
  list: z
    .object({
      read_at: z.string(),
      trouble: z.string().nullable().meta({
        description:
          'Why the file was not read again when it last changed; what stood in it before holds. For admins.',
      }),
    })
    .nullable()
    .meta({ description: 'The file of HEDDLE_MODELS; null where there is none.' }),
  answers: z
    .array(RunningAnswer)
    .max(mostAnswers)
    .meta({ description: `What is answered at the moment, the oldest first: at most ${mostAnswers}.` }),
  answers_in_all: count,
  recording: z.enum(['all', 'asked', 'off']).meta({
    description: 'Which answers to you become calls of the record: all, those with `"store": true`, or none.',
  }),
  server: z.object({
    version: z.string(),
    started_at: z.string(),
    memory_bytes: count.meta({ description: 'Of the server itself, without its engines.' }),
  }),
})
export type EngineAnswer = z.output<typeof EngineAnswer>
