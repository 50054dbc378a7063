import { z } from 'zod'
import * as calls from './calls/contract.ts'
import * as chat from './chat/contract.ts'
import * as completions from './completions/contract.ts'
import * as definitions from './definitions/contract.ts'
import * as evaluationRuns from './evaluation-runs/contract.ts'
import * as evaluations from './evaluations/results-contract.ts'
import * as feedback from './feedback/contract.ts'
import * as files from './files/contract.ts'
import * as objects from './objects/contract.ts'
import * as otel from './otel/contract.ts'
import * as prices from './prices/contract.ts'
import * as queues from './queues/contract.ts'
import * as tables from './tables/contract.ts'
import * as tokens from './tokens/contract.ts'

const families = {
  calls,
  chat,
  completions,
  definitions,
  evaluationRuns,
  evaluations,
  feedback,
  files,
  objects,
  otel,
  prices,
  queues,
  tables,
  tokens,
}

/** Every contract by a name, so that the threads that read bodies know the one that a route means. */
export const bodyContracts: ReadonlyMap<string, z.ZodType> = new Map(
  Object.entries(families).flatMap(([family, contracts]) =>
    Object.entries(contracts).flatMap(([name, contract]): [string, z.ZodType][] =>
      contract instanceof z.ZodType ? [[`${family}.${name}`, contract]] : [],
    ),
  ),
)
