import { z } from 'zod'
import { answer, plainText } from '../../domain/fields.ts'
import { ProjectSettings } from '../../domain/project-settings.ts'

export const defaultLimit = 100
const maxAtOnce = 1_000

export const ListQuery = z.strictObject({
  after: plainText(256)
    .optional()
    .meta({ description: 'Continues after this name: `next` of the previous page.' }),
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
      project: z.string().meta({ description: '<entity>/<project>' }),
      settings: ProjectSettings,
      is_being_deleted: z.boolean(),
    }),
  ),
  next: z.string().nullable().meta({ description: 'Null on the last page.' }),
})

const count = z.int().min(0)

export const DeleteAnswer = answer('Everything of the project is deleted. What was deleted:', {
  deleted: z.record(z.string(), count).meta({
    description: 'Numbers of calls, feedback, queues, object versions, tables, files, prices and monitors.',
  }),
})
