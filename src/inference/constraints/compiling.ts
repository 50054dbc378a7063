import { extname } from 'node:path'
import { refuse } from '../../domain/refusals.ts'
import { BudgetExceededError } from '../../threads/bounded-worker.ts'
import { inProcess } from '../../threads/process.ts'
import { createWorkerPool, type PoolOptions } from '../../threads/worker-pool.ts'
import type { CompileAnswer } from './compiling-process.ts'
import type { Compiled, CompileQuestion } from './constraint.ts'
import { createLatelyCompiled } from './lately-compiled.ts'

/**
 * Compiles constraints in a process of its own, one after the other: most take a few milliseconds, and what a tenant uses
 * again is there already. Steps decide what is too large, on every machine alike; the process bounds the memory, and is replaced without the server or other callers waiting.
 */
export interface Compiling {
  /** The grammar; rejects with a refusal that names the field. `tenant` is whose request it is. */
  compile(tenant: string, question: CompileQuestion, signal?: AbortSignal): Promise<Compiled>
  close(): Promise<void>
}

/** The times are for what never ends: all that the bounds of the compiler let through takes a small part of them. */
export interface CompilingOptions extends PoolOptions {
  heapMb: number
  /** What becomes of names in schemas that are not keywords. */
  unknownKeywords: 'annotate' | 'refuse'
  /** The module of the process, for tests. */
  entry: URL
}

const defaults: CompilingOptions = {
  limitMs: 20_000,
  longestMs: 300_000,
  workers: 2,
  startMs: 60_000,
  heapMb: 512,
  unknownKeywords: 'annotate',
  queuePerTenant: 256,
  queueTotal: 1_024,
  // Before the build and after it.
  entry: new URL(`./compiling-process${extname(import.meta.url)}`, import.meta.url),
  // With it go what it has compiled, and 70 MB.
  idleMs: 600_000,
}

export function createCompiling(given: Partial<CompilingOptions> = {}): Compiling {
  const options = { ...defaults, ...given }
  const { entry, heapMb } = options
  const start = inProcess<CompileQuestion, CompileAnswer>({ entry, heapMb, purpose: 'constraints' })
  const pool = createWorkerPool(start, options)
  const lately = createLatelyCompiled()
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
      if ('code' in answer) throw refuse(answer.code, answer.values)
      if (key !== undefined) lately.set(tenant, key, answer)
      return answer
    },
    close: () => pool.close(),
  }
}
