import { compactJson } from '../../../packages/json/index.ts'
import { writeJson } from '../../domain/json/text.ts'
import { monotonicNow } from '../../domain/time.ts'
import type { GenerationContext } from '../generation/generation.ts'
import type { OperationParts } from '../parts.ts'
import type { CallValues } from './call-values.ts'
import { runCheck, type Unscored } from './check.ts'
import { decideAsJudge, templateOf } from './decided-judge.ts'
import { askJudge, type JudgeAnswer, promptOf } from './judge.ts'
import { asksQuestions } from './judge-questions.ts'
import type { RunnableScorer } from './runnable.ts'

/** What a scorer looks at. */
interface ScoredCall {
  values: CallValues
  /** What its models cost, as JSON; undefined if no price is known. */
  costs(): Promise<string | undefined>
  latencyMs: number
}

/** A question that a judge has answered. */
export interface JudgeRun {
  answer: JudgeAnswer
  started: number
  ended: number
}

/** `output` is JSON in one line, whatever spaces the model wrote: it becomes part of JSON Lines. */
type Scored = { output: string; run?: JudgeRun } | (Unscored & { run?: JudgeRun })

/** Applies a scorer to a call. Throws refusals of a model or of the record. */
export async function score(
  services: OperationParts,
  scorer: RunnableScorer,
  { values, costs, latencyMs }: ScoredCall,
  asking: GenerationContext,
): Promise<Scored> {
  if ('check' in scorer) {
    const { schemas } = services
    const tenant = asking.caller.name
    const outcome = await runCheck(scorer.check, { schemas, tenant, values, costs, latencyMs })
    return 'state' in outcome ? outcome : { output: writeJson(outcome.score) }
  }
  const { judge } = scorer
  const prompt = promptOf(judge, values)
  if (typeof prompt !== 'string') return prompt
  const started = monotonicNow()
  const answer = await (asksQuestions(judge)
    ? decideAsJudge(services, judge, { prompt, template: templateOf(judge, values) }, asking)
    : askJudge(services, judge, prompt, asking))
  const run = { answer, started, ended: monotonicNow() }
  if (answer.fault === undefined) return { output: compactJson(answer.text), run }
  return { state: 'failed', reason: 'answer_cut_off', detail: answer.fault, run }
}
