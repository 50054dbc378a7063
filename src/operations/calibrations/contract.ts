import { z } from 'zod'
import { answer, plainText, shortList } from '../../domain/fields.ts'
import { maxEvaluations } from '../evaluations/results-contract.ts'

const name = plainText(128).min(1)
const path = plainText(1024).nullish()
const positive = z
  .array(plainText(256))
  .min(1)
  .max(50)
  .nullish()
  .describe(
    'For a predicate: the values that mean yes; all others mean no. Default: true and 1, false and 0.',
  )

/** Which decisions, and what people said about the same calls. */
const asked = {
  scorer: name.describe('The name of a scorer whose judge has questions.'),
  question: plainText(64).min(1).describe('The name of one of them.'),
  digest: plainText(64)
    .nullish()
    .describe('Of the question with its model, template and settings. Default: that of the newest decision.'),
  labels: z.strictObject({
    annotation: name
      .nullish()
      .describe('The name of an annotation spec: labels are what people gave for it.'),
    path: path.describe('Where the label is in the annotation.'),
    positive,
    expected: z
      .strictObject({
        evaluation_run_ids: shortList(plainText(128).min(1), maxEvaluations).min(1),
        column: plainText(1024)
          .min(1)
          .describe('Where the label of a prediction is in the row of the dataset.'),
        positive,
      })
      .nullish()
      .describe('Labels of predictions are what the rows of evaluations expect.'),
    feedback: z
      .strictObject({
        type: plainText(128)
          .min(1)
          .describe('`wandb.reaction.1`, where 👍 means yes and 👎 no, or a type of your own.'),
        path: path.describe('Where the label is in the payload; of a reaction `detoned`.'),
        positive,
      })
      .nullish()
      .describe('Labels are what people gave as feedback of this type.'),
  }),
}

export const ReportBody = z.object(asked)
export type ReportBody = z.output<typeof ReportBody>
export type LabelsBody = ReportBody['labels']

export const FitBody = z.object({
  ...asked,
  name: name.nullish().describe('Of the calibration. Default: `<scorer>.<question>`.'),
  dry_run: z.boolean().nullish().meta({ description: 'Stores nothing.', default: false }),
})
export type FitBody = z.output<typeof FitBody>

export const AgreementBody = z.object({
  ...asked,
  calibration: plainText(1_024)
    .min(1)
    .nullish()
    .describe(
      'A reference to a calibration by which the judge decides. Default: that of the question, if it has one.',
    ),
  threshold: z
    .number()
    .min(0)
    .max(1)
    .nullish()
    .describe('From which probability a predicate says yes. Default: that of the question, else 0.5.'),
  precision: z
    .number()
    .gt(0)
    .lt(1)
    .nullish()
    .describe(
      'For a predicate: looks for the lowest threshold from which at least this share of yes is right.',
    ),
})
export type AgreementBody = z.output<typeof AgreementBody>

const bounds = z.object({ low: z.number(), high: z.number() })
const estimate = bounds.extend({ value: z.number() }).nullable()
export const share = bounds.extend({ count: z.int(), of: z.int(), value: z.number() }).nullable()
const callIds = z.array(z.string())

const evidence = {
  type: z.enum(['predicate', 'choice', 'score']),
  digest: z.string(),
  model: z.string().nullable(),
  decisions: z.int().describe('Calls that were decided under this digest, at most 20,000.'),
  labels: z.int().describe('Those of them with a label, at most 5,000.'),
  sources: z
    .object({ annotation: z.int(), expected: z.int(), feedback: z.int() })
    .describe('The labels by what they are of: the first of these that tells of a call counts.'),
  disputed: z.int().describe('Calls about which people differ without a majority; they do not count.'),
  unusable: z.int().describe('Values that are missing or none of the options; they do not count.'),
  improbable: z
    .int()
    .describe(
      'Decisions that clients wrote with probabilities that are not those of all options or do not add up to 1 within 0.01; they do not count.',
    ),
  other_digests: z
    .array(z.object({ digest: z.string(), decisions: z.int() }))
    .describe('Decisions of another wording, model or setting; they do not count.'),
}

const quality = z.object({
  log_loss: estimate,
  brier: estimate,
  ece: estimate.describe('The calibration error, less what chance adds. Null with fewer than 100 labels.'),
  excess: estimate.describe('Mean probability less the share that was right: above 0 is too sure.'),
  bins: z.array(bounds.extend({ count: z.int(), probability: z.number(), share: z.number() })),
})

const report = {
  ...evidence,
  before: quality.nullable(),
  after: quality.nullable().describe('With maps that were fitted without the call that they are tried on.'),
  map: z
    .object({ a: z.number(), b: z.number(), shifts: z.array(z.number()).optional() })
    .nullable()
    .describe(
      'p = softmax(a · logits), with b added for yes; of others, `shifts` for the options in their order. Null with fewer than 20 labels.',
    ),
  gain: estimate.describe('By how much the log loss falls.'),
  helps: z.boolean().describe('Whether even the lower end of the gain is above 0.'),
  why: z.string().nullable().describe('Why there is no calibration.'),
  labels_to_halve: z.int().describe('So many more labels would halve the intervals.'),
  review: callIds.describe('The ten calls without a label whose review would teach most.'),
}

export const Report = answer(
  'How reliable the probabilities are, and what a calibration would change.',
  report,
)
export type Report = z.output<typeof Report>

export const Fitted = answer('The report, and the calibration that was stored; null if none was.', {
  ...report,
  calibration: z.string().nullable().describe('A reference to its version.'),
})

export const humans = z
  .object({ calls: z.int(), raters: z.int(), kappa: estimate, ac1: estimate, alpha: estimate })
  .nullable()
  .describe(
    'Between people: Fleiss’ κ and AC1 over the calls that equally many have labelled, Krippendorff’s α over all that several have, of levels the ordinal one.',
  )

export const Agreement = answer('How well the judge and people agree.', {
  ...evidence,
  categories: z.array(z.union([z.string(), z.boolean()])),
  threshold: z.number().nullable(),
  calibration: z
    .string()
    .nullable()
    .describe(
      'By which the judge decides here: probabilities and thresholds are calibrated ones. Null if none was named, or if it was fitted for another question.',
    ),
  confusion: z.array(
    z.object({
      human: z.union([z.string(), z.boolean()]),
      judge: z.union([z.string(), z.boolean()]),
      count: z.int(),
      call_ids: callIds.describe('At most 100.'),
    }),
  ),
  agreement: share,
  kappa: estimate.describe('Cohen’s; of levels, with squared distances. Null with fewer than 30 labels.'),
  ac1: estimate.describe('Gwet’s. Null with fewer than 30 labels.'),
  true_positive_rate: share,
  true_negative_rate: share,
  precision: share,
  prevalence: z
    .object({
      flagged: share.describe('Of the calls without a label.'),
      corrected: estimate.describe('For the errors of the judge, by Rogan and Gladen.'),
    })
    .nullable(),
  humans,
  suggested: z
    .object({ threshold: z.number(), flagged: z.int(), right: z.int(), bound: z.number() })
    .extend({ recall: z.number().nullable(), flagged_share: z.number() })
    .nullable()
    .describe('The threshold for `precision`, with the share that is promised at 95 %.'),
  notes: z.array(z.string()).describe('What the labels cannot tell, and why.'),
})
