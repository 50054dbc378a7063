import type { EngineAnswer } from '../../src/operations/engine/contract.ts'
import { requestJson } from './request.ts'

export type Engine = EngineAnswer

export const readEngine = (signal: AbortSignal): Promise<Engine> => requestJson('/views/engine', { signal })
