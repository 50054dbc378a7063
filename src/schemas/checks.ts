import { BudgetExceededError } from '../threads/bounded-worker.ts'
import { inThread } from '../threads/thread.ts'
import { createWorkerPool, type PoolOptions } from '../threads/worker-pool.ts'
import { type CheckQuestion, checksThread } from './checks-thread.ts'
import type { Validation } from './validator.ts'

/** `over_budget`: the check was stopped because it exceeded its time or memory. */
type CheckResult = Validation | { kind: 'over_budget'; limit: string }

/**
 * Checks values against JSON Schemas from callers, which are in effect their code. A pattern can backtrack and branches
 * can double for ever, so the checks run in a separate thread that is ended if one takes too long
 * (docs/decisions/0006).
 */
export interface SchemaChecks {
  /** Both texts are JSON; without a value only the schema is checked. */
  check(tenant: string, schema: string, value?: string): Promise<CheckResult>
  close(): Promise<void>
}

/** The time of a check includes compiling its schema. */
export interface ChecksOptions extends PoolOptions {
  heapMb: number
  /** The module of the thread, for tests. */
  thread: string
}

const defaults: ChecksOptions = {
  limitMs: 1_000,
  maxMs: 10_000,
  workers: 4,
  startMs: 30_000,
  heapMb: 96,
  queuePerTenant: 128,
  queueTotal: 1_024,
  thread: checksThread,
  // An idle thread uses 25 MB.
  idleMs: 60_000,
}

export function createSchemaChecks(custom: Partial<ChecksOptions> = {}): SchemaChecks {
  const options = { ...defaults, ...custom }
  const pool = createWorkerPool<CheckQuestion, Validation>(inThread(options.thread, options.heapMb), options)
  return {
    async check(tenant, schema, value) {
      try {
        return await pool.ask(tenant, { schema, value })
      } catch (error) {
        if (error instanceof BudgetExceededError) return { kind: 'over_budget', limit: error.limit }
        throw error
      }
    },
    close: () => pool.close(),
  }
}
