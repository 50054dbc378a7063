import { opNameOf } from '../refs.ts'

/**
 * The ops of a trial of an evaluation, in which a row goes through the model and the scorers: the names used by Python
 * and by TypeScript.
 */
export const trialOps = ['Evaluation.predict_and_score', 'Evaluation.predictAndScore']

/** Also for a class that extends Evaluation under its own name, such as `MyEvaluation.predict_and_score`. */
export function isTrialOp(op: string): boolean {
  if (!op.includes('predict')) return false
  const name = opNameOf(op)
  return trialOps.some((known) => name.endsWith(known))
}
