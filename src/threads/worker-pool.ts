import { whenAborted } from '../../packages/waiting/index.ts'
import { refuse } from '../domain/refusals.ts'
import {
  type Asked,
  type BoundedWorker,
  createBoundedWorker,
  type Start,
  type WorkerBounds,
} from './bounded-worker.ts'
import { createFairQueue } from './fair-queue.ts'

/** For running what is in effect callers' code: patterns, templates, schemas. */
interface WorkerPool<Question, Answer> {
  /**
   * Tenants take turns, and each has one question at a time. Rejects with `BudgetExceededError` if the question
   * exceeded its limits. An abort removes a waiting question from the queue; a running one continues.
   */
  ask(tenant: string, question: Question, signal?: AbortSignal): Promise<Answer>
  close(): Promise<void>
}

export interface PoolOptions extends WorkerBounds {
  /** The most workers. */
  workers: number
  /** Questions that may wait: per tenant, and in total. */
  queuePerTenant: number
  queueTotal: number
}

/** Most questions take less than this: another worker is started only if others wait for one that takes longer. */
const usualMs = 20

/** What a worker receives. Whose question it is decides what the worker's caches find. */
export type AskedBy<Question> = Question & { tenant: string }

interface Member<Question, Answer> {
  worker: BoundedWorker<AskedBy<Question>, Answer>
  /**
   * The tenant that asked last. A tenant whose worker was ended has that one started again, and does not take another
   * tenant's.
   */
  tenant: string
  isBusy: boolean
}

/**
 * Usually a single worker, which answers one question after the other. When a question takes long, another worker is
 * started for the other tenants. `start` decides whether a worker is a thread or a process.
 */
export function createWorkerPool<Question extends object, Answer>(
  start: Start<AskedBy<Question>, Answer>,
  options: PoolOptions,
): WorkerPool<Question, Answer> {
  type OwnMember = Member<Question, Answer>
  const queue = createFairQueue<Asked<Question, Answer>>({
    perTenant: options.queuePerTenant,
    total: options.queueTotal,
  })
  const members: OwnMember[] = []
  let again: NodeJS.Timeout | undefined
  let isClosed = false

  const isBusy = (tenant: string) => members.some((member) => member.isBusy && member.tenant === tenant)

  function memberFor(tenant: string): OwnMember | undefined {
    const free = members.filter((member) => !member.isBusy)
    const found =
      free.find((member) => member.tenant === tenant) ??
      free.find((member) => member.worker.isReady) ??
      free[0]
    if (found !== undefined || members.length >= options.workers) return found
    const late = performance.now() - usualMs
    if (members.some(({ worker: { askedAt } }) => askedAt === undefined || askedAt > late)) return undefined
    const made: OwnMember = { worker: createBoundedWorker(start, options), tenant, isBusy: false }
    members.push(made)
    return made
  }

  function next(): void {
    clearTimeout(again)
    for (;;) {
      const taken = queue.take((tenant) => !isBusy(tenant) && memberFor(tenant) !== undefined)
      if (taken === undefined) break
      void run(memberFor(taken.tenant) as OwnMember, taken.tenant, taken.job)
    }
    if (queue.size > 0 && members.length < options.workers) again = setTimeout(next, usualMs)
  }

  async function run(member: OwnMember, tenant: string, job: Asked<Question, Answer>): Promise<void> {
    member.tenant = tenant
    member.isBusy = true
    try {
      job.resolve(await member.worker.ask({ ...job.question, tenant }))
    } catch (error) {
      job.reject(error)
    }
    member.isBusy = false
    if (!isClosed) next()
  }

  return {
    ask(tenant, question, signal) {
      if (isClosed) return Promise.reject(refuse('stopping'))
      if (signal?.aborted) return Promise.reject(signal.reason)
      return new Promise((resolve, reject) => {
        const leave = () => {
          queue.remove(tenant, job)
          reject(signal?.reason)
        }
        const after =
          <Value>(call: (value: Value) => void) =>
          (value: Value) => {
            stay?.()
            call(value)
          }
        const job = { question, resolve: after(resolve), reject: after(reject) }
        queue.add(tenant, job)
        const stay = signal && whenAborted(signal, leave)
        next()
      })
    },
    async close() {
      isClosed = true
      clearTimeout(again)
      const stopping = refuse('stopping')
      for (const job of queue.clear()) job.reject(stopping)
      await Promise.all(members.map(({ worker }) => worker.close(stopping)))
    },
  }
}
