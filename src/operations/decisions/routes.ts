import type { Routes } from '../../http/contracts.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { chargedBody } from '../generation/respond.ts'
import { family } from '../parts.ts'
import { type PoolingQuestion, poolingRefusals, respondPooled } from '../pooling/respond.ts'
import { AnyDecisionAnswer, AnyDecisionBody } from './contract.ts'
import { type MadeDecisions, makeDecisions } from './openai.ts'
import { makeSystemOneDecisions, type SystemOneDecisions } from './system-one.ts'

const question: PoolingQuestion<AnyDecisionBody, MadeDecisions | SystemOneDecisions> = {
  kind: 'decision',
  prefix: 'decision-',
  make: (services, body, context) =>
    body.state == null
      ? makeDecisions(services, body, context)
      : makeSystemOneDecisions(services, body, context),
  recorded: (made, id) => ({ id, ...made }),
  send: (_, { cached: __, ...made }, id) => ({ id, ...made }),
}

const decide: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Answer questions with probabilities',
    description:
      'Compatible with OpenAI (`input`), or TypeSafe, llama-server and vLLM (`state`). docs/typed-decisions.md describes it.',
    tags: ['decisions'],
    body: AnyDecisionBody,
    response: { 200: AnyDecisionAnswer, ...poolingRefusals },
  }
  for (const url of ['/v1/decisions', '/v1/decisions/', '/v1/systemone']) {
    app.post(url, { config: chargedBody, schema: { ...schema, hide: url.endsWith('/') } }, (request, reply) =>
      respondPooled(services, request, reply, question),
    )
  }
}

export const decisionRoutes = family(decide)
