import { refuse } from '../domain/refusals.ts'
import { createFairLine } from './fair-line.ts'

/**
 * Work that a stranger has sent, in effect code of theirs: done by one worker beside everyone, a question after the other, that
 * is ended when it takes too long. What it is, a thread or a process, `start` says.
 */
export interface OneWorker<Question, Answer> {
  /**
   * `tenant` is whose question it is: those who wait take turns, so that what one of them sends slows the others down by one
   * question each. Rejects with `TooMuch` when it was stopped. Who aborts leaves the line; what is under way goes on.
   */
  ask(tenant: string, question: Question, signal?: AbortSignal): Promise<Answer>
  close(): Promise<void>
}

/** A question took more of something than it may. */
export class TooMuch extends Error {
  override readonly name = 'TooMuch'
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
  /** Unused for so long it goes, with the memory that it holds; the next question starts another. */
  idleMs: number
  /** Questions that may wait: of one tenant, and of all. */
  line: number
  longestLine: number
}

/** What a worker that has been started can be told. */
export interface Started<Question> {
  ask(question: Question): void
  /** One that is held keeps this process alive. */
  hold(isHeld: boolean): void
  /** Resolves when it is gone. */
  end(): Promise<unknown>
}

/** What a worker says. */
export interface Heard<Answer> {
  /** It takes questions. */
  ready(): void
  answer(answer: Answer): void
  /** It is gone, or of no use any more. */
  failed(error: Error): void
}

export type Start<Question, Answer> = (heard: Heard<Answer>) => Started<Question>

interface Job<Question, Answer> {
  question: Question
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export function createOneWorker<Question, Answer>(
  start: Start<Question, Answer>,
  options: WorkerOptions,
): OneWorker<Question, Answer> {
  type Own = Job<Question, Answer>
  const line = createFairLine<Own>({ ofTenant: options.line, ofAll: options.longestLine })
  let running: Own | undefined
  let worker: Started<Question> | undefined
  let isReady = false
  let answered = 0
  let alarm: NodeJS.Timeout | undefined
  let idle: NodeJS.Timeout | undefined
  let isClosed = false
  const ending = new Set<Promise<unknown>>()

  function next(): void {
    if (running !== undefined) return
    running = line.take()
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
    // The answer may be here already, behind whatever has made this thread late.
    wake(() => setImmediate(stop, job), options.limitMs)
  }

  /** There is one thing at a time that may take too long. */
  function wake(call: () => void, ms: number): void {
    clearTimeout(alarm)
    alarm = setTimeout(call, ms)
  }

  function stop(late: Own): void {
    if (running !== late) return
    drop()
    settle((job) => job.reject(new TooMuch(`${options.limitMs} ms`)))
  }

  function settle(tell: (job: Own) => void): void {
    clearTimeout(alarm)
    const job = running
    running = undefined
    if (job !== undefined) tell(job)
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

  function begin(): Started<Question> {
    const ifMine =
      <Given extends unknown[]>(call: (...given: Given) => void) =>
      (...given: Given) => {
        if (worker === started) call(...given)
      }
    const failed = ifMine((error: Error) => {
      const mayBeOfAnother = answered > 0
      drop()
      clearTimeout(alarm)
      // It may have died of what an earlier question left behind, so this one is asked again, as the first.
      if (mayBeOfAnother && running !== undefined) ask()
      else settle((job) => job.reject(error))
    })
    const started = start({
      ready: ifMine(() => {
        isReady = true
        clearTimeout(alarm)
        ask()
      }),
      answer: ifMine((answer: Answer) => {
        answered++
        settle((job) => job.resolve(answer))
      }),
      failed,
    })
    wake(() => failed(new Error(`a worker did not start within ${options.startMs} ms`)), options.startMs)
    return started
  }

  return {
    ask(tenant, question, signal) {
      if (isClosed) return Promise.reject(refuse('stopping'))
      if (signal?.aborted) return Promise.reject(signal.reason)
      return new Promise((resolve, reject) => {
        const leave = () => {
          line.leave(tenant, job)
          reject(signal?.reason)
        }
        const after =
          <Value>(call: (value: Value) => void) =>
          (value: Value) => {
            signal?.removeEventListener('abort', leave)
            call(value)
          }
        const job: Own = { question, resolve: after(resolve), reject: after(reject) }
        line.join(tenant, job)
        signal?.addEventListener('abort', leave, { once: true })
        next()
      })
    },
    async close() {
      isClosed = true
      clearTimeout(idle)
      drop()
      settle((job) => job.reject(refuse('stopping')))
      for (const job of line.clear()) job.reject(refuse('stopping'))
      await Promise.all(ending)
    },
  }
}
