import { z } from 'zod'
import { eventTypes, formats, measures, severities, watchedThings } from '../../domain/alerts.ts'
import { answer, dateTime, plainText, projectId, shortList } from '../../domain/fields.ts'
import { CallsFilter } from '../calls/contract.ts'
import { query } from '../paging-contract.ts'

const id = plainText(128).min(1)

export const InProject = z.object({ project_id: projectId })
export const RulePath = z.object({ rule_id: id })
export const EndpointPath = z.object({ endpoint_id: id })

const bound = z.number().nullish()
const hasOneBound = ({ below, above }: { below?: unknown; above?: unknown }) =>
  (below == null) !== (above == null)
const oneBound = { error: 'expected either below or above' }

const scorer = plainText(512)
  .min(1)
  .nullish()
  .describe('The name after wandb.runnable. in feedback_type. Default: any scorer.')
const path = plainText(1024)
  .min(1)
  .nullish()
  .describe('The path of the score inside payload.output. Default: the output itself.')

const Score = z.strictObject({ scorer, path, below: bound, above: bound }).refine(hasOneBound, oneBound)

const Window = z
  .strictObject({
    measure: z
      .enum(measures)
      .describe(
        'Of the calls that began in the window; error_rate is the share of ended calls with an exception, cost by the prices of the project. score_avg is of the scores that came in it.',
      ),
    scorer,
    path,
    seconds: z
      .int()
      .min(60)
      .max(7 * 24 * 3_600)
      .describe('The length of the window.'),
    below: bound,
    above: bound,
    min_count: z.int().min(1).max(1_000_000).nullish().meta({
      default: 1,
      description: 'With fewer ended calls or scores, a rate or an average is not decided.',
    }),
  })
  .refine(hasOneBound, oneBound)

const Decision = z
  .strictObject({
    question: plainText(1_024).min(1).nullish().describe('The name or id of the question. Default: any.'),
    answer: plainText(1_024)
      .nullish()
      .describe(
        'A value of a choice, a label of a score, true or false. Without a bound it has to be the likeliest.',
      ),
    below: z.number().min(0).max(1).nullish(),
    above: z
      .number()
      .min(0)
      .max(1)
      .nullish()
      .describe('Of the probability of the answer; without one, of true or of the likeliest.'),
  })
  .refine(({ answer, below, above }) => (answer ?? below ?? above) != null, {
    error: 'expected an answer, below or above',
  })
  .refine(({ below, above }) => below == null || above == null, oneBound)

const Queue = z.strictObject({
  queue_id: id.nullish().describe('Default: any queue of the project.'),
  waiting: z
    .int()
    .min(0)
    .max(10_000)
    .describe('So many items, or more, that nobody has completed or skipped. With 0, none any more.'),
})

const Budget = z.strictObject({
  share: z.number().min(0.01).max(1).describe('Spent of the amount, from 0.01 to 1.'),
})

const name = plainText(200).min(1)
const endpointIds = z.array(id).max(20).nullish().describe('Default: all endpoints.')

const settings = {
  filter: CallsFilter.nullish().describe('Of call and window: which calls, as in queries.'),
  query: query.describe(
    'An expression over calls, or for score over feedback: {"$expr": …}; see docs/queries.md.',
  ),
  score: Score.nullish().describe('Of score: fires for a score below or above a number.'),
  decision: Decision.nullish().describe('Of decision: which answer, or its probability.'),
  queue: Queue.nullish().describe(
    'Of queue: fires whenever so many items wait and fewer did before, or none any more.',
  ),
  budget: Budget.nullish().describe('Of budget: fires once in each window of each budget of the project.'),
  window: Window.nullish().describe('Of window: which figure, and its bound.'),
  severity: z.enum(severities).nullish().meta({ default: 'error' }),
  cooldown_seconds: z
    .int()
    .min(0)
    .max(7 * 24 * 3_600)
    .nullish()
    .describe(
      'After a message, matches are counted and not sent for so long. Default: 0, and for window its length.',
    ),
  endpoint_ids: endpointIds,
  active: z.boolean().nullish().meta({ default: true }),
}

const on = z
  .enum(watchedThings)
  .describe(
    'What it watches: each call as it ends, each score or other feedback, typed decisions, queues or budgets of the project, or figures of a window.',
  )

export const CreateRuleBody = z.strictObject({ project_id: projectId, name, on, ...settings })
export type CreateRuleBody = z.output<typeof CreateRuleBody>

export const TryRuleBody = z.strictObject({ project_id: projectId, on, ...settings })
export type TryRuleBody = z.output<typeof TryRuleBody>

export const UpdateRuleBody = z.strictObject({
  project_id: projectId,
  name: name.optional().describe('An absent field keeps its value; null resets it.'),
  ...settings,
})
export type UpdateRuleBody = z.output<typeof UpdateRuleBody>

const time = z.iso.datetime()
const anything = z.unknown()
const count = z.number().int()

const RuleRecord = z.object({
  id: z.string(),
  project_id: z.string(),
  name: z.string(),
  on,
  filter: anything,
  query: anything,
  score: anything,
  decision: anything,
  queue: anything,
  budget: anything,
  window: anything,
  severity: z.enum(severities),
  cooldown_seconds: count,
  endpoint_ids: z.array(z.string()).nullable(),
  active: z.boolean(),
  firing: z.boolean().describe('Whether the condition held in the last window that was decided.'),
  suppressed: count.describe('Matches that the cool-down has held back since the last message.'),
  created_at: time,
  created_by: z.string(),
  updated_at: time,
})
export const RuleAnswer = answer('The current state of the rule.', { rule: RuleRecord })
export const RulesAnswer = answer('The rules of the project, oldest first.', { rules: z.array(RuleRecord) })

export const TryAnswer = answer('What would have been sent in the last day.', {
  matches: count.describe(
    'Calls, scores, decisions or windows that meet the condition, times at which a queue did, budgets that do now.',
  ),
  messages: count.describe('What the cool-down leaves of them.'),
  is_complete: z.boolean().describe('False if only the latest 10000 were looked at.'),
  examples: z
    .array(z.object({ subject: z.string(), at: time, value: z.number().nullable() }))
    .describe('The latest twenty.'),
})

const url = plainText(2048).describe('https://…; of pagerduty, if not its usual address.')
const routingKey = plainText(64).min(1).describe('Of pagerduty: the integration key.')
const types = z
  .array(z.enum(eventTypes))
  .min(1)
  .max(eventTypes.length)
  .nullish()
  .describe('Only events of these types. Default: all.')

export const CreateEndpointBody = z.strictObject({
  project_id: projectId,
  name,
  format: z.enum(formats).nullish().meta({ default: 'standard' }),
  url: url.nullish(),
  routing_key: routingKey.nullish(),
  types,
})
export type CreateEndpointBody = z.output<typeof CreateEndpointBody>

export const UpdateEndpointBody = z.strictObject({
  project_id: projectId,
  name: name.optional().describe('An absent field keeps its value.'),
  url: url.optional(),
  routing_key: routingKey.optional(),
  types,
  active: z.boolean().nullish().meta({
    default: null,
    description: 'False pauses it: it gets no events of that time. True resumes it.',
  }),
})
export type UpdateEndpointBody = z.output<typeof UpdateEndpointBody>

export const RotateBody = z.strictObject({
  project_id: projectId,
  overlap_hours: z.int().min(0).max(168).nullish().meta({
    default: 24,
    description: 'How long the old secret signs, too.',
  }),
})
export type RotateBody = z.output<typeof RotateBody>

const EndpointRecord = z.object({
  id: z.string(),
  project_id: z.string(),
  name: z.string(),
  format: z.enum(formats),
  url: z.string().describe('Without what may be secret in it.'),
  types: z.array(z.enum(eventTypes)).nullable(),
  active: z.boolean(),
  stopped: z.string().nullable().describe('Why the server has switched it off.'),
  failures: count.describe('Failed tries since the last success.'),
  failing_since: time.nullable(),
  pending: count,
  sent: count,
  dead: count,
  dropped: count.describe('Given up because more than 10000 deliveries waited.'),
  created_at: time,
  created_by: z.string(),
  updated_at: time,
})
export const EndpointAnswer = answer('The current state of the endpoint.', { endpoint: EndpointRecord })
export const EndpointsAnswer = answer('The endpoints of the project, oldest first.', {
  endpoints: z.array(EndpointRecord),
})
export const SecretAnswer = answer('The endpoint, and its secret, which is never shown again.', {
  endpoint: EndpointRecord,
  secret: z.string().describe('Signs messages as Standard Webhooks say: whsec_…'),
})

export const TestAnswer = answer('The event that is on its way.', { event_id: z.string() })

const state = z.enum(['pending', 'sent', 'dead'])

export const EventsBody = z.strictObject({
  project_id: projectId,
  rule_id: id.nullish(),
  endpoint_id: id.nullish(),
  type: z.enum(eventTypes).nullish(),
  state: state.nullish().describe('Only events with a delivery in this state.'),
  before: id.nullish().describe('Only events older than the one with this id: the next page.'),
  limit: z.int().min(1).max(1_000).nullish().meta({ default: 100 }),
})
export type EventsBody = z.output<typeof EventsBody>

export const EventsAnswer = answer('Events and their deliveries, newest first.', {
  events: z.array(
    z.object({
      id: z.string().describe('The webhook-id of its messages.'),
      type: z.enum(eventTypes),
      rule_id: z.string().nullable(),
      timestamp: time,
      data: anything,
      deliveries: z.array(
        z.object({
          endpoint_id: z.string(),
          state,
          tries: count,
          next_at: time.nullable(),
          status: count.nullable().describe('Of the last answer.'),
          error: z.string().nullable(),
          updated_at: time,
        }),
      ),
    }),
  ),
})

export const maxReplayed = 1_000

export const ReplayBody = z.strictObject({
  project_id: projectId,
  event_ids: shortList(id, maxReplayed)
    .nullish()
    .describe('These events, whatever became of them. Default: all dead deliveries of the range.'),
  after: dateTime.nullish(),
  before: dateTime.nullish(),
})
export type ReplayBody = z.output<typeof ReplayBody>
export const ReplayAnswer = answer('How many are sent again, at most 1000.', { replayed: count })
