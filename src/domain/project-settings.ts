import { z } from 'zod'
import { kinds } from '../../packages/redaction/index.ts'
import { plainText } from './fields.ts'

export const maxRetentionDays = 36_500

/** Names that counts have of their own. */
const reserved: readonly string[] = [...kinds, 'dropped', 'hashed', 'failed']

/** What the server itself reads of a call, and what is no object of JSON. */
const path =
  /^(?:(?:inputs|output|payload)|(?:attributes|summary)(?!\.(?:weave|heddle|usage|\*)(?:\.|$))\.[^.]+)(?:\.[^.]+)*$/
const maxSegments = 16

const isUnique = (names: readonly string[]) => new Set(names).size === names.length

export const RedactionSettings = z.strictObject({
  kinds: z
    .array(z.enum(kinds))
    .max(kinds.length)
    .refine(isUnique, 'expected each kind once')
    .optional()
    .describe('What is known by its form. `[email]` and the like replace it.'),
  patterns: z
    .array(
      z.strictObject({
        name: plainText(32)
          .regex(/^[a-z][a-z0-9_]+$/, 'expected a letter from a to z, then a to z, 0 to 9 or _')
          .refine((name) => !reserved.includes(name), `expected none of ${reserved.join(', ')}`),
        pattern: plainText(1_000).min(1),
      }),
    )
    .max(20)
    .refine((patterns) => isUnique(patterns.map(({ name }) => name)), 'expected different names')
    .optional()
    .describe(
      'Regular expressions; `[name]` replaces what they match. Without look-arounds, anchors and references.',
    ),
  paths: z
    .array(
      z.strictObject({
        path: plainText(1_000)
          .regex(path, 'expected inputs, output or payload, or what lies below them, attributes or summary')
          .refine((text) => text.split('.').length <= maxSegments, `expected at most ${maxSegments} names`),
        action: z.enum(['drop', 'hash']),
      }),
    )
    .max(50)
    .optional()
    .describe('Values to drop or to hash, such as `inputs.**.password`; `inputs` is all of them.'),
})
export type RedactionSettings = z.output<typeof RedactionSettings>

/**
 * What an operator sets for a project; absent settings follow the server's. Stored as JSON, so that more can be added
 * later.
 */
export const ProjectSettings = z.object({
  retention_days: z
    .int()
    .min(0)
    .max(maxRetentionDays)
    .optional()
    .describe(
      'Days after its start when a call expires; 0 keeps calls for ever. Absent: HEDDLE_RETENTION_DAYS.',
    ),
  redaction: RedactionSettings.optional().describe('What is replaced before it is stored.'),
})
export type ProjectSettings = z.output<typeof ProjectSettings>
