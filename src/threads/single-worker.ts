import { refuse } from '../domain/refusals.ts'
import { createFairQueue } from './fair-queue.ts'

/**
 * Runs code that a caller sent, in effect: patterns, templates, schemas. One worker beside this thread answers the questions
 * one after the other, and is ended when one takes too long. `start` decides whether it is a thread or a process.
 */
export interface SingleWorker<Question, Answer> {
  /**
   * Tenants take turns, so what one of them sends delays each of the others by one question at a time. Rejects with
   * `BudgetExceededError` when the question took too long. An abort removes a question from the queue; one that has begun
   * continues.
   */
  ask(tenant: string, question: Question, signal?: AbortSignal): Promise<Answer>
  close(): Promise<void>
}

/** A question took more time or memory than it may. */
export class BudgetExceededError extends Error {
  override readonly name = 'BudgetExceededError'
  readonly limit: string

  constructor(limit: string) {
    super(`it takes more than ${limit}`)
    this.limit = limit
  }
}

export interface WorkerOptions {
  /** For one question. */
  limitMs: number
  /** Until a worker takes questions. */
  startMs: number
  /** An unused worker ends after this time and frees its memory; the next question starts another. */
  idleMs: number
  /** Questions that may wait: of one tenant, and of all. */
  queuePerTenant: number
  queueTotal: number
}

/** A worker that has been started. */
export interface StartedWorker<Question> {
  ask(question: Question): void
  /** A worker that is held keeps this process alive. */
  hold(isHeld: boolean): void
  /** Resolves when it has ended. */
  end(): Promise<unknown>
}

/** What a worker reports. */
export interface WorkerListener<Answer> {
  /** It takes questions. */
  ready(): void
  answer(answer: Answer): void
  /** It has ended, or cannot be used any more. */
  failed(error: Error): void
}

export type Start<Question, Answer> = (listener: WorkerListener<Answer>) => StartedWorker<Question>

interface Job<Question, Answer> {
  question: Question
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export function createSingleWorker<Question, Answer>(
  start: Start<Question, Answer>,
  options: WorkerOptions,
): SingleWorker<Question, Answer> {
  type OwnJob = Job<Question, Answer>
  const queue = createFairQueue<OwnJob>({ perTenant: options.queuePerTenant, total: options.queueTotal })
  let running: OwnJob | undefined
  let worker: StartedWorker<Question> | undefined
  let isReady = false
  let answered = 0
  let timer: NodeJS.Timeout | undefined
  let idle: NodeJS.Timeout | undefined
  let isClosed = false
  const ending = new Set<Promise<unknown>>()

  function next(): void {
    if (running !== undefined) return
    running = queue.take()?.job
    clearTimeout(idle)
    if (running !== undefined) {
      ask()
      return
    }
    worker?.hold(false)
    idle = setTimeout(drop, options.idleMs).unref()
  }

  function ask(): void {
    worker ??= begin()
    worker.hold(true)
    const job = running
    if (!isReady || job === undefined) return
    worker.ask(job.question)
    // When this thread is late, the answer may be waiting in its event loop already.
    setTimer(() => setImmediate(stop, job), options.limitMs)
  }

  /** Only one thing at a time can take too long: starting, or one question. */
  function setTimer(call: () => void, ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(call, ms)
  }

  function stop(late: OwnJob): void {
    if (running !== late) return
    drop()
    settle((job) => job.reject(new BudgetExceededError(`${options.limitMs} ms`)))
  }

  function settle(settleJob: (job: OwnJob) => void): void {
    clearTimeout(timer)
    const job = running
    running = undefined
    if (job !== undefined) settleJob(job)
    if (!isClosed) next()
  }

  function drop(): void {
    const old = worker
    worker = undefined
    isReady = false
    answered = 0
    if (old === undefined) return
    const ended: Promise<unknown> = old.end().finally(() => ending.delete(ended))
    ending.add(ended)
  }

  function begin(): StartedWorker<Question> {
    const ifCurrent =
      <Given extends unknown[]>(call: (...given: Given) => void) =>
      (...given: Given) => {
        if (worker === started) call(...given)
      }
    const failed = ifCurrent((error: Error) => {
      const isFirstQuestion = answered === 0
      drop()
      clearTimeout(timer)
      // An earlier question may have damaged the worker, so this one is asked again, as the first of a new worker.
      if (!isFirstQuestion && running !== undefined) ask()
      else settle((job) => job.reject(error))
    })
    const started = start({
      ready: ifCurrent(() => {
        isReady = true
        clearTimeout(timer)
        ask()
      }),
      answer: ifCurrent((answer: Answer) => {
        answered++
        settle((job) => job.resolve(answer))
      }),
      failed,
    })
    setTimer(() => failed(new Error(`a worker did not start within ${options.startMs} ms`)), options.startMs)
    return started
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
            signal?.removeEventListener('abort', leave)
            call(value)
          }
        const job: OwnJob = { question, resolve: after(resolve), reject: after(reject) }
        queue.add(tenant, job)
        signal?.addEventListener('abort', leave, { once: true })
        next()
      })
    },
    async close() {
      isClosed = true
      clearTimeout(idle)
      drop()
      settle((job) => job.reject(refuse('stopping')))
      for (const job of queue.clear()) job.reject(refuse('stopping'))
      await Promise.all(ending)
    },
  }
}
