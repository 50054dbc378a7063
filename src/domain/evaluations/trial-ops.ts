import { opNameOf } from '../refs.ts'

/** One trial of an evaluation: a row goes through the model and the scorers. In the words of Python and of TypeScript. */
export const trialOps = ['Evaluation.predict_and_score', 'Evaluation.predictAndScore']

/** Also of a class that extends Evaluation under a name of its own, such as `MyEvaluation.predict_and_score`. */
export function isTrialOp(op: string): boolean {
  if (!op.includes('predict')) return false
  const name = opNameOf(op)
  return trialOps.some((known) => name.endsWith(known))
}
