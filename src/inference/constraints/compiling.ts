import { extname } from 'node:path'
import { passOnRefusal, refuse } from '../../domain/refusals.ts'
import { BudgetExceededError } from '../../threads/bounded-worker.ts'
import { inProcess } from '../../threads/process.ts'
import { type AskedBy, createWorkerPool, type PoolOptions } from '../../threads/worker-pool.ts'
import { createCompiledCache } from './compiled-cache.ts'
import type { CompileAnswer } from './compiling-process.ts'
import type { Compiled, CompileQuestion } from './constraint.ts'

/**
 * Compiles constraints one at a time in a separate process. Most take a few milliseconds, and what a tenant uses again is
 * cached. The step budget decides what is too large, so the answer is the same on every machine. The process bounds the
 * memory, and can be replaced without stopping the server or making other callers wait.
 */
export interface Compiling {
  /** The grammar; rejects with a refusal that names the field. `tenant` is the tenant that sent the request. */
  compile(tenant: string, question: CompileQuestion, signal?: AbortSignal): Promise<Compiled>
  close(): Promise<void>
}

/** The timeouts guard against compilations that never end; anything within the compiler's budget takes a small part of them. */
export interface CompilingOptions extends PoolOptions {
  heapMb: number
  /** How names in schemas that are not keywords are treated. */
  unknownKeywords: 'annotate' | 'refuse'
  /** The module of the process, for tests. */
  entry: URL
}

const defaults: CompilingOptions = {
  limitMs: 20_000,
  maxMs: 300_000,
  workers: 2,
  startMs: 60_000,
  heapMb: 512,
  unknownKeywords: 'annotate',
  queuePerTenant: 256,
  queueTotal: 1_024,
  // The extension differs before and after the build.
  entry: new URL(`./compiling-process${extname(import.meta.url)}`, import.meta.url),
  // Ending the idle process frees 70 MB and drops what it has cached.
  idleMs: 600_000,
}

export function createCompiling(overrides: Partial<CompilingOptions> = {}): Compiling {
  const options = { ...defaults, ...overrides }
  const { entry, heapMb } = options
  const start = inProcess<AskedBy<CompileQuestion>, CompileAnswer>({ entry, heapMb, purpose: 'constraints' })
  const pool = createWorkerPool(start, options)
  const lately = createCompiledCache()
  return {
    async compile(tenant, question, signal) {
      const asked: CompileQuestion =
        options.unknownKeywords === 'refuse'
          ? { ...question, options: { ...question.options, unknownKeywords: 'refuse' } }
          : question
      const key = lately.keyOf(asked)
      const known = key === undefined ? undefined : lately.get(tenant, key)
      if (known !== undefined) return known
      const answer = await pool.ask(tenant, asked, signal).catch((error: unknown) => {
        if (!(error instanceof BudgetExceededError)) throw error
        throw refuse('constraint_too_large', { field: question.field, why: error.message })
      })
      if ('code' in answer) throw passOnRefusal(answer)
      if (key !== undefined) lately.set(tenant, key, answer)
      return answer
    },
    close: () => pool.close(),
  }
}
