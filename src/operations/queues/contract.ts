import { z } from 'zod'
import { annotationStates, itemStates } from '../../domain/annotation-states.ts'
import {
  answer,
  flag,
  plainText,
  projectId,
  setByServer,
  shortList,
  shortRecord,
  withAliases,
} from '../../domain/fields.ts'
import { makers } from '../../domain/queues/pairs.ts'
import { adjudications, outcomes } from '../../domain/queues/reviews.ts'
import { humans, share } from '../calibrations/contract.ts'
import { limit, offset, sortBy } from '../paging-contract.ts'

const queueId = plainText(128).min(1).describe('The id of the queue.')
const name = plainText(1024).min(1)
const description = plainText(64 * 1024)
const scorerRefs = z.array(plainText(2048)).max(1000).describe('References of any kind.')

export const QueuePath = z.object({ queue_id: queueId })
export const ItemPath = z.object({
  queue_id: queueId,
  item_id: plainText(128).min(1).describe('The id of the item.'),
})
export const InProject = z.object({ project_id: projectId })
export type InProject = z.output<typeof InProject>

const users = z.array(plainText(256).min(1)).max(100)

/** Who reviews the items, and who decides where they disagree. Null or absent: the default, or unchanged. */
const review = {
  annotators: z
    .int()
    .min(1)
    .max(100)
    .nullish()
    .describe('How many annotators have to complete or skip an item. Default: 1.'),
  reviewers: users.nullish().describe('Who may. Default: an empty list, which means anyone.'),
  blind: z.boolean().nullish().meta({
    default: false,
    description:
      'Until they have finished an item, annotators do not see what others answered in this queue. Default: false.',
  }),
  adjudication: z
    .enum(adjudications)
    .nullish()
    .describe('When an adjudicator decides a finished item. Default: none.'),
  adjudicators: users.nullish().describe('Who decides. They are no annotators of the queue.'),
  tolerance: shortRecord(plainText(1024).min(1), z.number().min(0), {
    min: 0,
    most: 100,
    things: 'questions',
    name: 'question',
  })
    .nullish()
    .describe('By how much numbers may differ, by the name of the question. Default: 0.'),
}

export const CreateBody = z.object({
  project_id: projectId,
  name,
  description: description.nullish().meta({ default: '' }),
  scorer_refs: scorerRefs,
  ...review,
})
export type CreateBody = z.output<typeof CreateBody>
export const CreateAnswer = answer('The id of the queue.', { id: z.string() })

const time = z.iso.datetime()

export const QueueRecord = z.object({
  id: z.string(),
  project_id: z.string(),
  name: z.string(),
  description: z.string(),
  scorer_refs: z.array(z.string()),
  annotators: z.number().int(),
  reviewers: z.array(z.string()),
  blind: z.boolean(),
  adjudication: z.enum(adjudications),
  adjudicators: z.array(z.string()),
  tolerance: z.record(z.string(), z.number()),
  created_at: time,
  created_by: z.string(),
  updated_at: time,
  deleted_at: time.nullable(),
})
export const QueueAnswer = answer('The current state of the queue.', { queue: QueueRecord })

export const UpdateBody = z.object({
  project_id: projectId,
  name: name.nullish().describe('Null or absent fields keep their value.'),
  description: description.nullish(),
  scorer_refs: scorerRefs.nullish(),
  ...review,
  blind: review.blind.meta({ default: null }),
})
export type UpdateBody = z.output<typeof UpdateBody>

/** Longer lists have a refusal of their own (413), so the schema leaves room for them. */
const ids = shortList(plainText(2048), 1000)

export const displayFields = z
  .array(plainText(1024))
  .max(1000)
  .nullish()
  .describe('Paths of the values of a call that reviewers are shown, such as inputs.question.')

const callPair = z.strictObject({
  call_ids: z.array(plainText(2048)).min(2).max(2).describe('Two different calls.'),
})
export type CallPair = z.output<typeof callPair>

export const AddItemsBody = z
  .object({
    project_id: projectId,
    call_ids: ids.nullish().describe('Calls, each of which becomes an item.'),
    pairs: shortList(callPair, 1000)
      .nullish()
      .describe(
        'Calls whose answers reviewers compare, two for each item. Either this or `call_ids` is needed.',
      ),
    display_fields: displayFields,
  })
  .refine(({ call_ids, pairs }) => call_ids != null || pairs != null, {
    path: ['call_ids'],
    error: 'expected call_ids, pairs or both',
  })
export type AddItemsBody = z.output<typeof AddItemsBody>
export const AddItemsAnswer = answer('Numbers of calls that were added and that were already in the queue.', {
  added_count: z.number().int(),
  duplicates: z
    .number()
    .int()
    .describe('Calls that are already in the queue, or named twice in this request.'),
  unknown: z.number().int().describe('Calls that do not exist, were deleted or have expired.'),
  unknown_call_ids: z.array(z.string()),
})

const itemState = z.enum(itemStates)
const nameFilter = plainText(2048).nullish()

const ItemsFilter = z.strictObject({
  id: nameFilter,
  call_id: nameFilter,
  call_op_name: nameFilter,
  call_trace_id: nameFilter,
  added_by: nameFilter,
  rule_id: nameFilter,
  annotation_states: z
    .array(itemState)
    .max(16)
    .nullish()
    .describe('Only items whose annotation_state is one of these. An empty list matches all.'),
  own_annotation_states: z
    .array(itemState)
    .max(16)
    .nullish()
    .describe('Only items whose own_annotation_state is one of these. An empty list matches all.'),
  outcomes: z
    .array(z.enum(outcomes))
    .max(16)
    .nullish()
    .describe('Only items whose review.outcome is one of these. An empty list matches all.'),
})

export const QueryItemsBody = z.strictObject({
  project_id: projectId,
  filter: ItemsFilter.nullish(),
  sort_by: sortBy().describe(
    'By call_started_at, call_op_name, created_at, updated_at or position_in_queue. Default: the order of the queue.',
  ),
  limit,
  offset,
  include_position: flag(false).describe('Fills position_in_queue.'),
})
export type QueryItemsBody = z.output<typeof QueryItemsBody>

export const ItemRecord = z.object({
  id: z.string().describe('The id of the item.'),
  queue_id: z.string().describe('The queue that it is in.'),
  project_id: z.string().describe('The project, as <entity>/<project>.'),
  call_id: z.string().describe('The call to review; of a pair, the first.'),
  other_call_id: z.string().nullable().describe('The second call of a pair to compare, or null.'),
  display: z
    .object({
      left: z.string().describe('The call that is shown first.'),
      right: z.string().describe('The other one.'),
    })
    .nullable()
    .describe('In which order the caller is shown a pair: by chance, and always the same.'),
  call_op_name: z.string().describe('`op_name` of the call when the item was added.'),
  call_started_at: time.describe('When the call started.'),
  call_ended_at: time
    .nullable()
    .describe('When the call ended; null if it was running when the item was added.'),
  call_trace_id: z.string().describe('The trace of the call.'),
  created_at: time.describe('When the item was added.'),
  created_by: z.string().describe('Who added it.'),
  updated_at: time.describe(
    'When the item was added, or when an annotator last changed a state of it. A lease does not change it.',
  ),
  deleted_at: time.nullable().describe('Null: items are not deleted.'),
  added_by: z.string().nullable().describe('Who added it, or created the rule that did.'),
  rule_id: z.string().nullable().describe('The rule that added the item; null if a person did.'),
  annotation_state: itemState.describe('The latest state that any annotator set.'),
  annotation_state_changed_at: time.nullable().describe('When that state was set; null if never.'),
  annotator_user_id: z.string().nullable().describe('Who set that state.'),
  own_annotation_state: itemState.describe('The latest state that the caller set.'),
  display_fields: z.array(z.string()).describe('Paths of the values of the call that reviewers are shown.'),
  position_in_queue: z
    .number()
    .int()
    .nullable()
    .describe('Its place in the queue, from 1; in `items/query` only with `include_position`.'),
  lease: z
    .object({
      user: z.string().describe('Who has reserved it.'),
      expires_at: time.describe('Until when.'),
    })
    .nullable()
    .describe('Who has reserved the item, and until when.'),
  review: z
    .object({
      finished: z.number().int().describe('How many annotators have completed or skipped it.'),
      needed: z.number().int().describe('How many have to.'),
      outcome: z.enum(outcomes).describe('What has come of it so far.'),
      adjudicated_by: z.string().nullable().describe('Whose decision counts.'),
    })
    .describe('How far the review has come.'),
})
export const ItemsAnswer = answer('The items found.', { items: z.array(ItemRecord) })
export const ItemAnswer = answer('The current state of the item.', {
  item: ItemRecord.describe('The item as the caller sees it.'),
})

export const ProgressBody = withAliases(
  { wb_user_id: 'svc_user_id' },
  z.object({
    project_id: projectId,
    annotation_state: z
      .enum(annotationStates)
      .describe(
        "The caller's state of the item. `completed` and `skipped` are final until the item is reopened; repeating a state changes nothing.",
      ),
    annotator_user_id: setByServer,
    svc_user_id: setByServer,
  }),
)
export type ProgressBody = z.output<typeof ProgressBody>

/** Long enough to annotate one item, short enough that a closed tab does not reserve it for the day. */
export const defaultLeaseSeconds = 15 * 60

export const NextBody = z.object({
  project_id: projectId,
  lease_seconds: z
    .int()
    .min(1)
    .max(24 * 60 * 60)
    .nullish()
    .meta({ default: defaultLeaseSeconds, description: 'How long the item is reserved for the caller.' }),
  annotators: z
    .int()
    .min(1)
    .max(100)
    .nullish()
    .describe(
      'How many annotators have to complete or skip an item before it is no longer open. Default: as the queue says.',
    ),
  except_item_ids: z
    .array(plainText(128))
    .max(100)
    .nullish()
    .describe('Items to pass over, such as the current item of a caller that prefetches the next one.'),
})
export type NextBody = z.output<typeof NextBody>
export const NextAnswer = answer('The item that is now reserved for the caller.', {
  item: ItemRecord.nullable().describe('Null if no item is open to the caller.'),
  leased_items: z
    .number()
    .int()
    .describe('Number of items that would be open to the caller if nobody else had a lease on them.'),
})

export const PreferencesBody = z.object({
  project_id: projectId,
  by: z.enum(makers).nullish().meta({
    default: 'model',
    description: 'What the two calls of a pair are told apart by; the prompt is the version that answered.',
  }),
})
export type PreferencesBody = z.output<typeof PreferencesBody>

const pairs = z.number().int()

export const PreferencesAnswer = answer('Which answers reviewers prefer.', {
  by: z.enum(makers),
  comparisons: z
    .array(
      z.object({
        first: z.string(),
        second: z.string(),
        first_wins: pairs,
        second_wins: pairs,
        ties: pairs,
        win_rate: share.describe('Of `first`, among the pairs without ties.'),
      }),
    )
    .describe('Those with the most pairs first, at most 100.'),
  undecided: pairs.describe('Judged pairs without a decision or a strict majority.'),
  not_compared: pairs.describe('Judged pairs whose calls have the same name, or no name, or are gone.'),
  partial: z
    .boolean()
    .describe('There are more than 20,000 preferences: those of later items are not counted.'),
  left: share.describe('How often the call on the left is preferred, among preferences that are no ties.'),
  humans,
})

export const StatsBody = z.object({ project_id: projectId, queue_ids: ids })
export type StatsBody = z.output<typeof StatsBody>

const count = z.number().int()
const ownCounts = z.object({ in_progress: count, completed: count, skipped: count })

export const QueueStats = z.object({
  queue_id: z.string(),
  total_items: count,
  completed_items: count.describe('Items that at least one annotator has completed or skipped.'),
  disagreed_items: count.describe('Items whose review.outcome is disagreed.'),
  by_state: ownCounts.extend({ unstarted: count }).describe('Number of items by annotation_state.'),
  by_user: z
    .array(ownCounts.extend({ user: z.string() }))
    .describe("Number of items by each annotator's own state."),
})
export const StatsAnswer = answer('Counts for each queue, in the order of the request.', {
  stats: z.array(QueueStats),
})
