import { z } from 'zod'
import { answer, plainText, projectId, shortList } from '../../domain/fields.ts'
import { CallsFilter } from '../calls/contract.ts'
import { limit, offset, query, sortBy } from '../paging.ts'
import { fieldMap } from '../scorers/contract.ts'

const id = plainText(128).min(1)

export const MonitorPath = z.object({ monitor_id: id })
export const InProject = z.object({ project_id: projectId })

/** In one monitor: each of them looks at each call. */
export const mostScorers = 16

const scorers = z
  .array(
    z.strictObject({
      scorer: plainText(2048).min(1).meta({
        description:
          'A reference to a scorer with a judge or a check, in this project. `latest` is the latest when it scores.',
      }),
      fields: fieldMap().nullish().meta({
        description: 'Other paths for names that the scorer has in its own `fields`.',
      }),
    }),
  )
  .min(1)
  .max(mostScorers)

const models = z
  .array(plainText(512).min(1))
  .min(1)
  .max(100)
  .nullish()
  .meta({ description: 'inputs.model or output.model is one of these.' })
const statuses = z
  .array(z.enum(['success', 'error', 'descendant_error']))
  .min(1)
  .max(3)
  .nullish()
  .meta({ description: 'How the calls ended; in any way when absent.' })

/** Which calls. */
const conditions = {
  filter: CallsFilter.nullish().meta({ description: 'As in /calls/stream_query.' }),
  query,
  models,
  statuses,
}
const samplingRate = z
  .number()
  .min(0)
  .max(1)
  .nullish()
  .meta({ default: 1, description: 'The share of the calls. Which ones follows from their ids.' })

const settings = {
  description: plainText(64 * 1024).nullish(),
  ...conditions,
  sampling_rate: samplingRate,
  token_budget: z
    .int()
    .min(0)
    .nullish()
    .meta({ description: 'Tokens that its judges may use in a day of UTC. No bound when absent.' }),
}

export const CreateBody = z.object({
  project_id: projectId,
  name: plainText(1024).min(1),
  scorers,
  ...settings,
  active: z.boolean().nullish().meta({ default: true }),
})
export type CreateBody = z.output<typeof CreateBody>

export const UpdateBody = z.object({
  project_id: projectId,
  name: plainText(1024).min(1).optional().meta({ description: 'What is absent stays as it is.' }),
  scorers: scorers.optional(),
  ...settings,
  active: z.boolean().optional().meta({ description: 'False pauses it.' }),
})
export type UpdateBody = z.output<typeof UpdateBody>

const time = z.iso.datetime()
const anything = z.unknown()

export const MonitorRecord = z.object({
  id: z.string(),
  project_id: z.string(),
  name: z.string(),
  description: z.string(),
  scorers: z.array(z.object({ scorer: z.string(), fields: anything })),
  filter: anything,
  query: anything,
  models: z.array(z.string()).nullable(),
  statuses: z.array(z.string()).nullable(),
  sampling_rate: z.number(),
  token_budget: z.number().nullable(),
  active: z.boolean(),
  created_at: time,
  created_by: z.string(),
  updated_at: time,
  deleted_at: time.nullable(),
})
export const MonitorAnswer = answer('The monitor as it is now.', { monitor: MonitorRecord })

export const QueryBody = z.object({
  project_id: projectId,
  name: plainText(1024).nullish().meta({ description: 'A part of the name, in upper or lower case.' }),
  sort_by: sortBy().meta({ description: 'By id, name, created_at or updated_at; newest first when absent.' }),
  limit,
  offset,
})
export type QueryBody = z.output<typeof QueryBody>

export const mostStats = 100

export const StatsBody = z.object({
  project_id: projectId,
  monitor_ids: shortList(id, mostStats),
})
export type StatsBody = z.output<typeof StatsBody>
