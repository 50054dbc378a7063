import { createOneWorker, TooMuch, type WorkerOptions } from '../threads/one-worker.ts'
import { inThread } from '../threads/thread.ts'
import { type CheckQuestion, checksThread } from './checks-thread.ts'
import type { Judgement } from './judge.ts'

/** `costly`: stopped, because it took more time or more memory than a check may take. */
export type Verdict = Judgement | { kind: 'costly'; limit: string }

/**
 * Checks values against JSON Schemas that someone sent: code of a stranger, in effect. A pattern can backtrack and
 * branches can double until the end of time, so it runs in a thread of its own that is ended when it takes too long
 * (docs/decisions/0006).
 */
export interface SchemaChecks {
  /** `tenant` is whose schema it is. Both texts are JSON; without a value the schema alone is looked at. */
  check(tenant: string, schema: string, value?: string): Promise<Verdict>
  close(): Promise<void>
}

/** The time of one check includes the compiling of its schema. */
export interface ChecksOptions extends WorkerOptions {
  heapMb: number
  /** The module of the thread, for tests. */
  thread: string
}

const defaults: ChecksOptions = {
  limitMs: 1_000,
  startMs: 30_000,
  heapMb: 96,
  line: 128,
  longestLine: 1_024,
  thread: checksThread,
  // With it go 25 MB.
  idleMs: 60_000,
}

export function createSchemaChecks(given: Partial<ChecksOptions> = {}): SchemaChecks {
  const options = { ...defaults, ...given }
  const worker = createOneWorker<CheckQuestion, Judgement>(inThread(options.thread, options.heapMb), options)
  return {
    async check(tenant, schema, value) {
      try {
        return await worker.ask(tenant, { schema, value })
      } catch (error) {
        if (error instanceof TooMuch) return { kind: 'costly', limit: error.limit }
        throw error
      }
    },
    close: () => worker.close(),
  }
}
