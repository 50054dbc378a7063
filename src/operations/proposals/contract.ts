import { z } from 'zod'
import { answer, plainText, projectId } from '../../domain/fields.ts'
import { Name } from '../objects/contract.ts'

const suffix = '.proposals'
/** The longest name of an object, less the suffix. */
const maxNameLength = 128 - suffix.length

/** The object whose versions are proposals for a prompt. */
export const proposalsOf = (name: string) => `${name}${suffix}`

export const PromptPath = Name.extend({ object_id: plainText(maxNameLength).min(1) })

const bound = z.number()

const FailingScore = z
  .strictObject({
    field: z
      .string()
      .regex(/^scores\..{1,1000}$/s, 'expected scores.…')
      .describe('A field of evaluation results, such as `scores.exact.passed`.'),
    below: bound.nullish().describe('A row with a lower number fails.'),
    above: bound.nullish().describe('A row with a higher number fails.'),
  })
  .describe(
    'Without a bound, false fails, and a number that is worse than the mean of the run. For a scorer with the direction `lower`, true and higher numbers are worse.',
  )
export type FailingScore = z.output<typeof FailingScore>

export const ProposalsBody = z.strictObject({
  project_id: projectId,
  run: plainText(128)
    .min(1)
    .describe(
      'A finished evaluation run that the server carried out with a version of the prompt, or of its proposals.',
    ),
  scores: z
    .array(FailingScore)
    .min(1)
    .max(8)
    .nullish()
    .describe(
      'A row fails if one of these says so. Default: all scores that are true or false; in a run without any, all numbers.',
    ),
  model: plainText(512)
    .min(1)
    .nullish()
    .describe('Who proposes. Default: the model of the prompt, of the run, or of the server.'),
  proposals: z.int().min(1).max(5).nullish().meta({ default: 2 }),
  max_rows: z
    .int()
    .min(1)
    .max(20)
    .nullish()
    .meta({ default: 8, description: 'Failing rows that are shown.' }),
  instructions: plainText(4096)
    .min(1)
    .nullish()
    .describe('What proposals should bear in mind, such as a length or a tone.'),
})
export type ProposalsBody = z.output<typeof ProposalsBody>

const ref = z.string().nullable()

const Proposal = z.object({
  index: z.int(),
  state: z
    .enum(['tried', 'untried', 'refused'])
    .describe('`untried`: it is a version, but its run could not begin. `refused`: it is no version.'),
  why: z.string().nullable().describe('Why it is refused or untried.'),
  reason: z.string().nullable().describe('What the model says for it.'),
  version: ref.describe('A reference to the version, of the object `<object_id>.proposals`.'),
  run: z.string().nullable().describe('The run of the same evaluation with this version.'),
})
export type Proposal = z.output<typeof Proposal>

const count = z.int()

export const ProposalsAnswer = answer('What was proposed. No label was moved, nor `latest` of the prompt.', {
  prompt: z.string().describe('A reference to the version that the run was with.'),
  failing_rows: count.describe('Without any, no model is asked.'),
  rows: z
    .array(
      z.object({
        row_digest: z.string(),
        cut: z.boolean().describe('Whether a long value of it was cut.'),
      }),
    )
    .describe('The rows that the model was shown, the worst ones first.'),
  rows_left_out: count,
  proposals: z.array(Proposal),
  call: ref.describe('A reference to the call that asked the model.'),
  usage: z
    .object({ prompt_tokens: count, completion_tokens: count, total_tokens: count })
    .nullable()
    .describe('Of that call. The runs count for themselves.'),
})
