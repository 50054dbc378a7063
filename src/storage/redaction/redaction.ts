import type { Redaction, Redactor } from '../../../packages/redaction/index.ts'
import { BudgetExceededError } from '../../threads/bounded-worker.ts'
import { inThread } from '../../threads/thread.ts'
import { createWorkerPool, type PoolOptions } from '../../threads/worker-pool.ts'
import {
  type RedactedTexts,
  type RedactionAnswer,
  type RedactionQuestion,
  type RedactionRules,
  redactAll,
  type TextToRedact,
  withoutTexts,
} from './texts.ts'
import { redactionThread } from './thread.ts'

export interface Redacting {
  redact(tenant: string, rules: RedactionRules, texts: readonly TextToRedact[]): Promise<RedactedTexts>
  /** Why one of the patterns cannot be used, and its index. */
  faultOf(tenant: string, redaction: Redaction): Promise<{ index: number; why: string } | undefined>
  close(): Promise<void>
}

/** Characters of a write that are read where HTTP is served: at most some milliseconds, for a text of nothing but digits. */
const maxInline = 8 * 1024

const heapMb = 512
const bounds: PoolOptions = {
  limitMs: 20_000,
  maxMs: 120_000,
  startMs: 30_000,
  workers: 2,
  queuePerTenant: 1_024,
  queueTotal: 4_096,
  idleMs: 60_000,
}

/** Small writes are read here; large ones, and those with patterns, in a thread that is started for them. */
export function createRedacting(): Redacting {
  const pool = createWorkerPool<RedactionQuestion, RedactionAnswer>(inThread(redactionThread, heapMb), bounds)
  const redactors = new WeakMap<RedactionRules, Redactor>()

  /** The finders are loaded for the first project that redacts. */
  async function redactorOf(rules: RedactionRules): Promise<Redactor> {
    const { createRedactor } = await import('../../../packages/redaction/index.ts')
    const redactor = redactors.get(rules) ?? createRedactor({ ...rules.redaction, secret: rules.secret })
    redactors.set(rules, redactor)
    return redactor
  }

  return {
    async redact(tenant, rules, texts) {
      const size = texts.reduce((sum, { text }) => sum + text.length, 0)
      if (size <= maxInline && !rules.redaction.patterns?.length) {
        return redactAll(await redactorOf(rules), texts)
      }
      try {
        const answer = await pool.ask(tenant, { ...rules, texts })
        // The patterns were accepted when they were set; a version that knows fewer of them stores nothing of the text.
        return 'fault' in answer ? withoutTexts(texts) : answer
      } catch (error) {
        if (error instanceof BudgetExceededError) return withoutTexts(texts)
        throw error
      }
    },
    async faultOf(tenant, redaction) {
      const answer = await pool.ask(tenant, { redaction, secret: '', texts: [] })
      return 'fault' in answer ? answer.fault : undefined
    },
    close: () => pool.close(),
  }
}
