import type { EngineAnswer } from '../../src/operations/engine/contract.ts'
import { requestJson } from './request.ts'

export type Engine = EngineAnswer

/** The names of the models that write answers. */
export const answeringModels = (engine: Engine | undefined): string[] =>
  engine?.models.flatMap(({ names, tasks }) => (tasks.includes('answers') ? names : [])) ?? []

export const readEngine = (signal: AbortSignal): Promise<Engine> => requestJson('/views/engine', { signal })
