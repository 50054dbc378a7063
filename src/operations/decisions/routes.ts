import type { Routes } from '../../http/contracts.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { chargedBody } from '../generation/respond.ts'
import { family } from '../parts.ts'
import { type PoolingQuestion, poolingRefusals, respondPooled } from '../pooling/respond.ts'
import { DecisionAnswer, DecisionBody, SystemOneAnswer, SystemOneBody } from './contract.ts'
import { type MadeDecisions, makeDecisions } from './openai.ts'
import { makeSystemOneDecisions, type SystemOneDecisions } from './system-one.ts'

const openAi: PoolingQuestion<DecisionBody, MadeDecisions> = {
  kind: 'decision',
  prefix: 'decision-',
  make: makeDecisions,
  recorded: (made, id) => ({ id, ...made }),
  send: (_, made, id) => ({ id, ...made }),
}

const systemOne: PoolingQuestion<SystemOneBody, SystemOneDecisions> = {
  kind: 'decision',
  prefix: 'decision-',
  make: makeSystemOneDecisions,
  recorded: (made, id) => ({ id, ...made }),
  send: (_, { cached: __, ...made }, id) => ({ id, ...made }),
}

const decide: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Answer questions about an input with probabilities',
    description: 'Compatible with OpenAI. docs/typed-decisions.md describes it.',
    tags: ['decisions'],
    body: DecisionBody,
    response: { 200: DecisionAnswer, ...poolingRefusals },
  }
  for (const url of ['/v1/decisions', '/v1/decisions/']) {
    app.post(url, { config: chargedBody, schema: { ...schema, hide: url.endsWith('/') } }, (request, reply) =>
      respondPooled(services, request, reply, openAi),
    )
  }
}

const decideAsSystemOne: Routes<GenerationParts> = async (app, services) => {
  const schema = {
    summary: 'Answer questions about a state with probabilities',
    description: 'Compatible with TypeSafe, llama-server and vLLM. docs/typed-decisions.md describes it.',
    tags: ['decisions'],
    body: SystemOneBody,
    response: { 200: SystemOneAnswer, ...poolingRefusals },
  }
  app.post('/v1/systemone', { config: chargedBody, schema }, (request, reply) =>
    respondPooled(services, request, reply, systemOne),
  )
}

export const decisionRoutes = family(decide, decideAsSystemOne)
