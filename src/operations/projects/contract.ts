import { z } from 'zod'
import { answer, plainText } from '../../domain/fields.ts'
import { ProjectSettings, RedactionSettings } from '../../domain/project-settings.ts'

export const defaultLimit = 100
const maxAtOnce = 1_000

export const ListQuery = z.strictObject({
  after: plainText(256).optional().describe('Continues after this name: `next` of the previous page.'),
  limit: z
    .string()
    .regex(/^\d{1,15}$/, 'expected a whole number')
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= maxAtOnce, `expected 1 to ${maxAtOnce}`)
    .optional()
    .meta({ default: String(defaultLimit), description: `At most ${maxAtOnce}.` }),
})
export type ListQuery = z.output<typeof ListQuery>

export const ListAnswer = answer('The projects that your key can access, sorted by name.', {
  projects: z.array(
    z.object({
      project: z.string().describe('<entity>/<project>'),
      settings: ProjectSettings,
      is_being_deleted: z.boolean(),
    }),
  ),
  next: z.string().nullable().describe('Null on the last page.'),
})

const count = z.int().min(0)

export const DeleteAnswer = answer('Everything of the project is deleted. What was deleted:', {
  deleted: z
    .record(z.string(), count)
    .describe('Numbers of calls, feedback, queues, object versions, tables, files, prices and monitors.'),
})

/** What `PUT …/redaction` accepts. */
export const RedactionBody = RedactionSettings

const redactionCounts = z.record(z.string(), count)

export const RedactionAnswer = answer('What is replaced in the project before it is stored.', {
  redaction: RedactionSettings.nullable().describe('Null if it is off.'),
  counts: redactionCounts.describe(
    'How often so far: by kind, by name of a pattern, and as `dropped`, `hashed` and `failed`.',
  ),
  earlier: z
    .object({
      state: z.enum(['running', 'done', 'stopped']).describe('Stopped: nothing is set any more.'),
      by: z.string(),
      begun_at: z.string(),
      ended_at: z.string().nullable(),
      rows: count.describe('Calls, notes and others that it has read.'),
      changed: count.describe('Of these, how many it has changed.'),
      failed: count.describe('How many stay as they are: they are damaged, or not read in time.'),
      overwritten: z
        .boolean()
        .describe(
          'Whether the files of SQLite have nothing left of what was replaced. PostgreSQL needs VACUUM.',
        ),
    })
    .nullable()
    .describe('The last pass over what was stored before; null if there was none.'),
})

export const triedByDefault = 100
const maxTried = 10_000

export const TryRedactionBody = z.strictObject({
  redaction: RedactionSettings.nullish().describe('Absent: what is set.'),
  limit: z
    .int()
    .min(1)
    .max(maxTried)
    .optional()
    .meta({ default: triedByDefault, description: 'The latest calls.' }),
})

export type TryRedactionBody = z.output<typeof TryRedactionBody>

export const TriedRedaction = answer(
  'What would have been replaced in calls that are stored. Nothing is changed.',
  {
    calls: count.describe('How many were read: up to the limit, and 64 MB.'),
    matching: count.describe('In how many of them something would be replaced.'),
    counts: redactionCounts,
  },
)
