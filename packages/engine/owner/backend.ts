import type { Backend, BackendStatus } from '../backend.ts'
import { checkPredictionLength, checkTextLength } from '../loop/checks.ts'
import type { ModelPlan } from '../models/plan.ts'
import type { EngineLogger } from './engine-log.ts'
import { createQuestions } from './questions.ts'
import { type Supervision, superviseEngine, usualSupervision } from './supervision.ts'

/**
 * A backend whose engine is a separate process: if it dies, the requests in it end with a refusal, and nothing else is
 * affected.
 */
export interface EmbeddedBackend extends Backend {
  /** The process id of the current engine. */
  pid(): number | undefined
}

export function createEmbeddedBackend(
  plan: ModelPlan,
  logger: EngineLogger,
  supervision: Supervision = usualSupervision,
  /** Called when the model is loaded, and when it cannot be. */
  changed: (status: BackendStatus) => void = () => {},
): EmbeddedBackend {
  const questions = createQuestions(plan)
  const engine = superviseEngine({
    plan,
    logger,
    supervision,
    changed,
    answered: questions.heard,
    lost: questions.lost,
  })

  return {
    pid: engine.pid,
    status: engine.status,
    model: engine.model,
    maxTokenSize: engine.maxTokenSize,
    close: engine.close,
    async tokenize(text, options, signal) {
      signal.throwIfAborted()
      const answer = await questions.text(engine.ready(), { kind: 'tokenize', text, ...options }, signal)
      if (answer.kind !== 'tokens') throw new Error(`the engine answered ${answer.kind} to a text`)
      return answer.tokens
    },
    async detokenize(tokens, { special }, signal) {
      signal.throwIfAborted()
      const answer = await questions.text(engine.ready(), { kind: 'detokenize', tokens, special }, signal)
      if (answer.kind !== 'text') throw new Error(`the engine answered ${answer.kind} to tokens`)
      return answer.text
    },
    async generate(generation, signal) {
      signal.throwIfAborted()
      const asking = engine.ready()
      checkTextLength(generation, engine.maxTokenSize(), plan.context)
      checkPredictionLength(generation, engine.maxTokenSize(), plan.context)
      return questions.generate(asking, generation, signal)
    },
    async pool(request, each, signal) {
      signal.throwIfAborted()
      await questions.pool(engine.ready(), request, each, signal)
    },
  }
}
