import { z } from 'zod'
import { projectId } from '../../domain/fields.ts'

const eventKinds = ['call', 'feedback', 'item', 'trial', 'engine'] as const

export const EventsQuery = z.strictObject({
  project_id: projectId
    .optional()
    .describe('Only events of this project. Default: all projects that your key can access.'),
})

export const RecordEvent = z.object({
  seq: z.int().describe('Number of the event in this stream.'),
  project: z.string().nullable().describe('Null for events of the kind `engine`.'),
  kind: z
    .enum(eventKinds)
    .describe(
      'What has changed: a call, feedback on a call, an item of a queue, the results of a trial, the state of a model.',
    ),
  ids: z
    .array(z.string())
    .nullable()
    .describe(
      'Ids of the calls, items, trials or models. For feedback, the calls that it is about, or none if it is about an object. Null if there are more than 500.',
    ),
  queue_id: z.string().optional().describe('The queue of an item.'),
})

export type RecordEvent = z.output<typeof RecordEvent>
