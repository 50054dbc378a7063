import { z } from 'zod'
import { answer, flag, plainText, projectId } from '../../domain/fields.ts'
import { displayFields, QueuePath } from './contract.ts'

/** An unknown part of a pick or a filter is refused: without it the rule would pick other calls. */

/** Far more calls than anyone would wait for. */
const rarest = 1_000_000_000

const bound = z.number().nullish()

const scorePick = z
  .strictObject({
    kind: z.literal('scores'),
    scorer: plainText(512)
      .min(1)
      .nullish()
      .describe('The name after wandb.runnable. in feedback_type. Default: any scorer.'),
    path: plainText(1024)
      .min(1)
      .nullish()
      .describe(
        'The path of the score inside payload.output, such as correct.score. Default: the output itself.',
      ),
    below: bound,
    above: bound,
  })
  .refine(({ below, above }) => (below == null) !== (above == null), {
    error: 'expected either below or above',
  })

export const Pick = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('all') }),
    z.strictObject({ kind: z.literal('every_nth'), n: z.int().min(1).max(rarest) }),
    z.strictObject({ kind: z.literal('errors') }),
    scorePick,
  ])
  .describe(
    'Which of the calls that pass the filter are added: all, every nth, those that ended with an exception, or those with a score below or above a number.',
  )

const names = z.array(plainText(2048).min(1)).min(1).max(100).nullish()

const Filter = z.strictObject({
  op_names: names.describe(
    'Only calls of one of these ops: a name, a reference, or a reference that ends in :* for every version.',
  ),
  models: names.describe(
    'Only calls for which one of these is a member of summary.usage or is inputs.model.',
  ),
})

export const CreateRuleBody = z.object({
  project_id: projectId,
  pick: Pick,
  filter: Filter.nullish().describe('Default: all calls of the project.'),
  display_fields: displayFields,
  paused: flag(false),
})
export type CreateRuleBody = z.output<typeof CreateRuleBody>
export const CreateRuleAnswer = answer('The id of the rule.', { id: z.string() })

export const RulePath = QueuePath.extend({ rule_id: plainText(128).min(1) })

const unchanged = z
  .null({ error: 'of a rule cannot be changed; create another rule, or leave it out' })
  .optional()
  .describe('Null or absent: what a rule picks cannot be changed.')

export const UpdateRuleBody = z.object({
  project_id: projectId,
  paused: z.boolean().describe('A paused rule picks and counts no calls.'),
  pick: unchanged,
  filter: unchanged,
  display_fields: unchanged,
})
export type UpdateRuleBody = z.output<typeof UpdateRuleBody>

const time = z.iso.datetime()

export const RuleRecord = z.object({
  id: z.string(),
  queue_id: z.string(),
  project_id: z.string(),
  pick: Pick,
  filter: Filter,
  display_fields: z.array(z.string()),
  paused: z.boolean(),
  counted: z
    .number()
    .int()
    .describe('Number of calls that passed the filter of a rule that picks every nth call; otherwise 0.'),
  created_at: time,
  created_by: z.string(),
  updated_at: time,
})
export const RuleAnswer = answer('The current state of the rule.', { rule: RuleRecord })
export const RulesAnswer = answer('The rules of the queue, oldest first.', { rules: z.array(RuleRecord) })
