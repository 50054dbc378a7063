import type { EngineAnswer } from '../../src/operations/engine/contract.ts'
import { askJson } from './ask.ts'

export type Engine = EngineAnswer

export const readEngine = (signal: AbortSignal): Promise<Engine> => askJson('/views/engine', { signal })
