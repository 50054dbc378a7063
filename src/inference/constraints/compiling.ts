import { extname } from 'node:path'
import { LRUCache } from 'lru-cache'
import { passOnRefusal, refuse } from '../../domain/refusals.ts'
import { BudgetExceededError } from '../../threads/bounded-worker.ts'
import { inProcess } from '../../threads/process.ts'
import { type AskedBy, createWorkerPool, type PoolOptions } from '../../threads/worker-pool.ts'
import type { CompileAnswer } from './compiling-process.ts'
import type { Compiled, CompileQuestion } from './constraint.ts'

/** For one tenant. */
const maxKept = 16
const maxBytes = 1024 * 1024
const maxTenants = 32
/** Comparing a constraint that is larger or deeper would block this thread. */
const maxWeight = 128 * 1024
const deepest = 64
/** The weight of a value, in addition to its text. */
const weightOfValue = 16

type TenantCache = LRUCache<string, Compiled>

/**
 * What was compiled lately for each tenant. A tenant that uses a constraint again does not wait for others whose
 * constraints are being compiled, and they do not evict its constraints.
 */
export function createCompiledCache() {
  const tenants = new LRUCache<string, TenantCache>({ max: maxTenants })

  return {
    /** The cache key of a question; undefined if it is not cached. */
    keyOf: ({ constraint, options }: CompileQuestion): string | undefined =>
      isSmall(constraint) ? JSON.stringify([constraint, options]) : undefined,
    get: (tenant: string, key: string): Compiled | undefined => tenants.get(tenant)?.get(key),
    set(tenant: string, key: string, compiled: Compiled): void {
      const cache: TenantCache = tenants.get(tenant) ?? new LRUCache({ max: maxKept, maxSize: maxBytes })
      cache.set(key, compiled, { size: 2 * key.length + compiled.bytes })
      tenants.set(tenant, cache)
    },
  }
}

function isSmall(root: unknown): boolean {
  let weight = 0
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return false
    const next: unknown[] = []
    for (const value of level) {
      weight += weightOfValue
      if (typeof value === 'string') weight += value.length
      else if (typeof value === 'object' && value !== null)
        for (const [name, member] of Object.entries(value)) {
          weight += name.length
          next.push(member)
        }
      if (weight > maxWeight || next.length * weightOfValue > maxWeight) return false
    }
    level = next
  }
  return true
}

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
