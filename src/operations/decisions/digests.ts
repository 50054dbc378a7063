import type { ServedModel } from '../../../packages/engine/index.ts'
import { digestOfJson } from '../../domain/digests.ts'
import { writeJson } from '../../domain/json/text.ts'
import type { DecisionAsked } from '../../inference/decisions/decision.ts'
import {
  decisionSystem,
  divider,
  labelsOf,
  ordersOf,
  questionText,
} from '../../inference/decisions/wording.ts'

/**
 * A digest of each question with its model, template and settings. Probabilities under different digests cannot be
 * compared, and no calibration of one is used for another. The model is known by its name, file and size: its weights
 * are not read again.
 */
export function decisionDigests(
  { names, parent, source, architecture, quantization, parameters, bytes, template }: ServedModel,
  { instructions, questions, orders }: Pick<DecisionAsked, 'instructions' | 'questions' | 'orders'>,
): string[] {
  const model = [names[0], parent, source, architecture, quantization, parameters, bytes, template]
  const around = [decisionSystem, divider, instructions]
  return questions.map((question) => {
    const texts = ordersOf(question, orders).map((order) => questionText(question, order))
    const asked = [question.kind, labelsOf(question), texts]
    return digestOfJson(writeJson([model.map((value) => value ?? null), around, asked]))
  })
}
