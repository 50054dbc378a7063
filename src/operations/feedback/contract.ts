import { z } from 'zod'
import {
  answer,
  jsonObject,
  longList,
  plainText,
  projectId,
  setByServer,
  withAliases,
} from '../../domain/fields.ts'
import { limit, offset, query, sortBy } from '../paging.ts'
import { payloadGiven } from './payload-size.ts'

const wireNames = { weave_ref: 'svc_ref', wb_user_id: 'svc_user_id' }

const longestRef = 4096
const ref = plainText(longestRef).nullish()
const id = plainText(256).min(1)

const fields = {
  project_id: projectId,
  svc_ref: plainText(longestRef).min(1).meta({
    description: 'What the feedback is about: a reference of any kind. The thing may come later, or never.',
    example: 'weave:///acme/qa/call/01a3f0c2-5b7e-7c11-9f43-2d6c1b0e8a55',
  }),
  feedback_type: plainText(512).min(1).meta({
    description:
      'wandb.reaction.1, wandb.note.1, wandb.annotation.<name>, wandb.runnable.<name>, wandb.agent_monitor, or any name of your own.',
  }),
  payload: jsonObject()
    .meta({ description: 'What it must hold depends on feedback_type, see docs/feedback.md.' })
    .transform(payloadGiven),
  creator: plainText(1024).nullish().meta({ description: 'A name to show.' }),
  id: id.nullish().meta({
    description:
      'Made by the server when absent. The same content again under the same id is the same record.',
  }),
  annotation_ref: ref.meta({ description: 'The annotation spec: an object reference. Annotations need it.' }),
  runnable_ref: ref.meta({ description: 'What made it: an op or object reference. Runnables need it.' }),
  call_ref: ref.meta({ description: 'The call that made it. Runnables need it when runnable_ref is an op.' }),
  trigger_ref: ref.meta({ description: 'What set it off: an object reference.' }),
  queue_id: plainText(256)
    .nullish()
    .meta({ description: 'The annotation queue in which the feedback was given.' }),
  svc_user_id: setByServer,
}

export const FeedbackGiven = withAliases(wireNames, z.object(fields))
export type FeedbackGiven = z.output<typeof FeedbackGiven>

export const FeedbackAnswer = answer('The feedback as it is stored.', {
  id: z.string(),
  created_at: z.iso.datetime(),
  svc_user_id: z.string(),
  wb_user_id: z.string().meta({ description: 'As svc_user_id: the name that the clients of Weave read.' }),
  payload: z
    .record(z.string(), z.unknown())
    .meta({ description: 'As it was sent; a reaction gains alias, detoned and detoned_alias.' }),
})

/** A batch is written in one transaction, and other writes wait for it. */
export const mostInBatch = 10_000

export const BatchBody = z.object({
  batch: longList(FeedbackGiven).meta({ description: `At most ${mostInBatch}; all are stored, or none.` }),
})
export type BatchBody = z.output<typeof BatchBody>
export const BatchAnswer = answer('The feedbacks as they are stored, in the order of the request.', {
  res: z.array(FeedbackAnswer),
})

export const ReplaceBody = withAliases(
  wireNames,
  z.object({
    ...fields,
    feedback_id: id.meta({ description: 'Goes when the new record comes; it need not exist.' }),
  }),
)
export type ReplaceBody = z.output<typeof ReplaceBody>

export const QueryBody = z.strictObject({
  project_id: projectId,
  fields: z.array(z.string().min(1).max(1024)).max(100).nullish().meta({
    description: 'All when absent. payload.<path> is the value there as text; count(*) stands alone.',
  }),
  query,
  sort_by: sortBy().meta({ description: 'In the order in which they came, when absent.' }),
  limit,
  offset,
})
export type QueryBody = z.output<typeof QueryBody>

export const QueryAnswer = answer('The feedbacks that were found, with the fields that were asked for.', {
  result: z.array(z.record(z.string(), z.unknown())),
  total_count: z.number().int().meta({ description: 'What the query finds, before limit and offset.' }),
})

export const PurgeBody = z.object({
  project_id: projectId,
  query: jsonObject().meta({
    description: 'One $eq of id with a text, $in of id with texts, or an $or of such.',
  }),
})
export type PurgeBody = z.output<typeof PurgeBody>
export const PurgeAnswer = answer('An empty object: the feedbacks are gone.', {})
