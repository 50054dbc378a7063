import { createYieldToLoop } from '../../packages/waiting/index.ts'
import type { SharedText } from '../domain/json/text.ts'
import { passOnRefusal, refuse } from '../domain/refusals.ts'
import { BudgetExceededError } from '../threads/bounded-worker.ts'
import { unpack } from '../threads/handover.ts'
import { inThread } from '../threads/thread.ts'
import { createWorkerPool } from '../threads/worker-pool.ts'
import type { BodyAnswer, BodyQuestion } from './body-thread.ts'
import type { BodyExclusions } from './read-body.ts'
import { CheckedBody } from './validation.ts'

/** Reads large bodies in separate threads, so that no body blocks the thread that serves HTTP. */
export interface BodyReader {
  /** Reads the body by the contract of that name; rejects with a refusal if it does not fit. Tenants take turns. */
  read(tenant: string, contract: string, body: LargeBody, keeps?: BodyExclusions): Promise<ReadBody>
  close(): Promise<void>
}

interface ReadBody {
  body: CheckedBody
  /** Its JSON, if that is to be kept. */
  shared?: SharedText
}

export interface LargeBody {
  segments: SharedArrayBuffer[]
  length: number
}

/** Bodies up to this length do not wait behind longer ones: there is a thread for each kind. */
const middleBody = 2 * 1024 * 1024

const options = {
  // Reading takes time proportional to the length: if it takes this long, the machine is in trouble.
  limitMs: 60_000,
  maxMs: 120_000,
  workers: 2,
  startMs: 30_000,
  // An idle thread uses 30 MB.
  idleMs: 60_000,
  queuePerTenant: 128,
  queueTotal: 1_024,
}

/** Enough for a body of 32 MiB: a list of lists takes twenty times its text as objects. */
const defaultHeapMb = 1_536

/** `thread` is the module of the threads, which finds contracts by their names. */
export function createBodyReader(thread: string, heapMb = defaultHeapMb): BodyReader {
  const start = inThread<BodyQuestion, BodyAnswer>(thread, heapMb)
  const middle = createWorkerPool(start, options)
  const long = createWorkerPool(start, options)

  async function ask(tenant: string, question: BodyQuestion): Promise<BodyAnswer> {
    try {
      return await (question.length > middleBody ? long : middle).ask(tenant, question)
    } catch (error) {
      throw error instanceof BudgetExceededError ? refuse('body_too_costly', { limit: error.limit }) : error
    }
  }

  return {
    async read(tenant, contract, body, keeps) {
      const answer = await ask(tenant, { ...body, contract, ...(keeps && { keeps }) })
      const { unknown } = answer
      if (answer.kind === 'refused')
        return { body: new CheckedBody({ error: passOnRefusal(answer) }, unknown) }
      const value = await unpack(answer.body, createYieldToLoop())
      return { body: new CheckedBody({ value }, unknown), ...(answer.shared && { shared: answer.shared }) }
    },
    async close() {
      await Promise.all([middle.close(), long.close()])
    },
  }
}
