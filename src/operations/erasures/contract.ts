import { z } from 'zod'
import { answer, plainText } from '../../domain/fields.ts'

export const ErasureBody = z.strictObject({
  subject: z.strictObject({
    kind: z
      .enum(['user', 'end_user', 'thread_id'])
      .describe(
        '`user`: a user of this server, by name. `end_user`: what clients recorded as their own user (docs/erasure.md lists the fields). `thread_id`: a conversation.',
      ),
    value: plainText(1_024).min(1).describe('Exactly, as it is stored.'),
  }),
  dry_run: z.boolean().nullish().meta({ description: 'Only counts.', default: false }),
})
export type ErasureBody = z.output<typeof ErasureBody>

const count = z.int().min(0)

/** What an erasure leaves, and who has to see to it. */
export const notCovered = {
  backups: 'Backups and copies of the record that were made before. Delete or erase them where they are.',
  storage:
    'SQLite: fragments in unused parts of pages of the database file; a copy by `heddle db backup` has none. PostgreSQL: dead rows until VACUUM, its write-ahead log and replicas.',
  exports: 'Files that were exported, and what alerts sent, before. They are with whoever got them.',
  log: 'Lines of the log, and of proxies in front. They end with their rotation.',
  upstream: 'Servers elsewhere that answered: ask who runs them.',
  others:
    'What others wrote about the person in their own calls, feedback, objects and datasets, and the names of calls that alerts have kept.',
  files: 'Files of the project, with pictures of requests: they may be those of other calls, too.',
  evaluations: 'Columns of evaluation results, until they are made again.',
  caches: 'Prompts that models keep in memory, and on disk where HEDDLE_PROMPT_CACHE is set.',
  administration:
    'The name of a user in the users, usage, budgets and the audit log, in queues and settings, and in sums by user until the next minutes have added them up again.',
} as const

export const Erasure = answer('What was erased, or would be. With `dry_run` there is no receipt.', {
  subject: z.object({
    kind: z.string(),
    hash: z
      .string()
      .nullable()
      .describe(
        'HMAC-SHA256 of project, kind and value with a key of this record. The same subject has the same.',
      ),
  }),
  erased: z.record(z.string(), count).describe('Numbers by kind.'),
  receipt: z
    .object({
      erasure: z.string().describe('Its id in the audit log.'),
      by: z.string(),
      begun_at: z.string(),
      ended_at: z.string(),
      storage: z.object({
        engine: z.string(),
        overwritten: z
          .boolean()
          .describe(
            'No free page and no log of the record is left that could hold what was erased. False on PostgreSQL, where VACUUM does that.',
          ),
      }),
    })
    .nullable(),
  not_covered: z.record(z.string(), z.string()).describe('What is left to others.'),
})
