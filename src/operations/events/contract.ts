import { z } from 'zod'
import { projectId } from '../../domain/fields.ts'

const eventKinds = ['call', 'feedback', 'item', 'trial', 'engine'] as const

export const EventsQuery = z.strictObject({
  project_id: projectId
    .optional()
    .meta({ description: 'Of this project alone; absent: of all that your key reaches.' }),
})

export const RecordEvent = z.object({
  seq: z.int().meta({ description: 'Counts the events of this run of the server.' }),
  project: z.string().nullable().meta({ description: 'Null for the engine.' }),
  kind: z.enum(eventKinds).meta({
    description:
      'What has changed: a call, what is said of one, an item of a queue, the results of a trial, the state of a model.',
  }),
  ids: z.array(z.string()).nullable().meta({
    description:
      'Calls, items, trials or models. Of feedback the calls that it is about, and none where it is about an object. Null where there are more than 500.',
  }),
  queue_id: z.string().optional().meta({ description: 'Of an item.' }),
})

export type RecordEvent = z.output<typeof RecordEvent>
