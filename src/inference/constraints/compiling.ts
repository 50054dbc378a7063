import { refuse } from '../../domain/refusals.ts'
import { BudgetExceededError } from '../../threads/bounded-worker.ts'
import { inThread } from '../../threads/thread.ts'
import { createWorkerPool, type PoolOptions } from '../../threads/worker-pool.ts'
import { type CompileAnswer, compilingThread } from './compiling-thread.ts'
import type { Compiled, CompileQuestion } from './constraint.ts'

/**
 * Compiles constraints in a thread of its own, one after the other: most take less than a millisecond, the worst that is
 * accepted a tenth of a second, and nobody else's answer waits for it.
 */
export interface Compiling {
  /** The grammar; rejects with a refusal that names the field. `tenant` is whose request it is. */
  compile(tenant: string, question: CompileQuestion, signal?: AbortSignal): Promise<Compiled>
  close(): Promise<void>
}

/** The time is for what the compiler's own bounds have not ended. */
export interface CompilingOptions extends PoolOptions {
  heapMb: number
  /** What becomes of names in schemas that are no keyword. */
  unknownKeywords: 'annotate' | 'refuse'
  /** The module of the thread, for tests. */
  thread: string
}

const defaults: CompilingOptions = {
  limitMs: 2_000,
  longestMs: 20_000,
  workers: 2,
  startMs: 30_000,
  heapMb: 192,
  unknownKeywords: 'annotate',
  queuePerTenant: 256,
  queueTotal: 1_024,
  thread: compilingThread,
  // With it go what it has compiled, and 30 MB.
  idleMs: 600_000,
}

export function createCompiling(given: Partial<CompilingOptions> = {}): Compiling {
  const options = { ...defaults, ...given }
  const start = inThread<CompileQuestion, CompileAnswer>(options.thread, options.heapMb)
  const pool = createWorkerPool(start, options)
  return {
    async compile(tenant, question, signal) {
      const asked: CompileQuestion =
        options.unknownKeywords === 'refuse'
          ? { ...question, options: { ...question.options, unknownKeywords: 'refuse' } }
          : question
      const answer = await pool.ask(tenant, asked, signal).catch((error: unknown) => {
        if (!(error instanceof BudgetExceededError)) throw error
        throw refuse('constraint_too_large', { field: question.field, why: error.message })
      })
      if ('grammar' in answer) return answer
      throw refuse(answer.code, answer.values)
    },
    close: () => pool.close(),
  }
}
