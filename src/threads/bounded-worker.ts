import { type Refusal, refuse } from '../domain/refusals.ts'

/** A question took more time or memory than it may. */
export class BudgetExceededError extends Error {
  override readonly name = 'BudgetExceededError'
  readonly limit: string

  constructor(limit: string) {
    super(`it takes more than ${limit}`)
    this.limit = limit
  }
}

export interface WorkerBounds {
  /** Processor time for one question, so that a busy machine does not cause refusals. */
  limitMs: number
  /** Elapsed time after which a question is stopped, whatever it has used. */
  maxMs: number
  /** The limit for a worker to become ready. */
  startMs: number
  /** An unused worker ends after this time and frees its memory; the next question starts another. */
  idleMs: number
}

/** A worker that has been started. */
interface StartedWorker<Question> {
  ask(question: Question): void
  /** The processor time that it has used so far; undefined if that cannot be measured. */
  cpuMs(): Promise<number | undefined>
  /** Whether the worker keeps this process alive. */
  hold(isHeld: boolean): void
  /** Resolves when it has ended. */
  end(): Promise<unknown>
}

/** What a worker reports. */
interface WorkerListener<Answer> {
  /** The worker accepts questions. */
  ready(): void
  answer(answer: Answer): void
  /** The worker has ended, or can no longer be used. */
  failed(error: Error): void
}

export type Start<Question, Answer> = (listener: WorkerListener<Answer>) => StartedWorker<Question>

/**
 * Answers one question at a time. The worker is ended when a question exceeds its limits, and started again for the
 * next one.
 */
export interface BoundedWorker<Question, Answer> {
  /** It has been started and accepts questions at once. */
  readonly isReady: boolean
  /** When the current question was asked. */
  readonly askedAt: number | undefined
  ask(question: Question): Promise<Answer>
  /** Rejects the current question with `reason`. */
  close(reason: Error): Promise<void>
}

/** Before this the processor time of a question is not measured: nearly all are answered by then. */
const unmeasuredMs = 50
const minPauseMs = 20

/** A question that waits, or is being answered. */
export interface Asked<Question, Answer> {
  question: Question
  resolve(answer: Answer): void
  reject(error: unknown): void
}

export function createBoundedWorker<Question, Answer>(
  start: Start<Question, Answer>,
  bounds: WorkerBounds,
): BoundedWorker<Question, Answer> {
  type Running = Asked<Question, Answer>
  let running: Running | undefined
  let worker: StartedWorker<Question> | undefined
  let isReady = false
  let answered = 0
  let askedAt: number | undefined
  let timer: NodeJS.Timeout | undefined
  let idle: NodeJS.Timeout | undefined
  const ending = new Set<Promise<unknown>>()

  function send(): void {
    worker ??= begin()
    worker.hold(true)
    if (!isReady || running === undefined) return
    askedAt = performance.now()
    worker.ask(running.question)
    watch(running, worker, askedAt)
  }

  /** Only one thing at a time can take too long: the start, or a question. */
  function setTimer(call: () => void, ms: number): void {
    clearTimeout(timer)
    timer = setTimeout(call, ms)
  }

  function watch(asked: Running, asking: StartedWorker<Question>, since: number): void {
    let before: number | undefined
    const look = async () => {
      const used = await asking.cpuMs().catch(() => undefined)
      if (running !== asked || worker !== asking) return
      const wall = performance.now() - since
      // If it cannot be measured, all of the elapsed time counts.
      if (used !== undefined) before ??= used
      const counted = used === undefined || before === undefined ? wall : used - before
      // If this thread is late, the answer may already be waiting in its event loop.
      if (counted >= bounds.limitMs) setImmediate(stop, asked, `${bounds.limitMs} ms`)
      else if (wall >= bounds.maxMs) setImmediate(stop, asked, `${bounds.maxMs} ms`)
      else setTimer(look, Math.max(minPauseMs, Math.min(bounds.limitMs - counted, bounds.maxMs - wall)))
    }
    setTimer(look, Math.min(unmeasuredMs, bounds.limitMs))
  }

  function stop(late: Running, limit: string): void {
    if (running !== late) return
    drop()
    settle((asked) => asked.reject(new BudgetExceededError(limit)))
  }

  function settle(settleAsked: (asked: Running) => void): void {
    clearTimeout(timer)
    const asked = running
    running = undefined
    askedAt = undefined
    worker?.hold(false)
    idle = setTimeout(drop, bounds.idleMs).unref()
    if (asked !== undefined) settleAsked(asked)
  }

  function drop(): void {
    const old = worker
    worker = undefined
    isReady = false
    askedAt = undefined
    answered = 0
    if (old === undefined) return
    const ended: Promise<unknown> = old.end().finally(() => ending.delete(ended))
    ending.add(ended)
  }

  function begin(): StartedWorker<Question> {
    const ifCurrent =
      <Given extends unknown[]>(call: (...args: Given) => void) =>
      (...args: Given) => {
        if (worker === started) call(...args)
      }
    const failed = ifCurrent((error: Error) => {
      const isFirstQuestion = answered === 0
      drop()
      clearTimeout(timer)
      // An earlier question may have damaged the worker, so this one is asked again, as the first of a new worker.
      if (!isFirstQuestion && running !== undefined) send()
      else settle((asked) => asked.reject(error))
    })
    const started = start({
      ready: ifCurrent(() => {
        isReady = true
        clearTimeout(timer)
        send()
      }),
      answer: ifCurrent((answer: Answer) => {
        answered++
        settle((asked) => asked.resolve(answer))
      }),
      failed,
    })
    setTimer(() => failed(lateStart(bounds.startMs)), bounds.startMs)
    return started
  }

  return {
    get isReady() {
      return isReady
    },
    get askedAt() {
      return askedAt
    },
    ask(question) {
      clearTimeout(idle)
      return new Promise((resolve, reject) => {
        running = { question, resolve, reject }
        send()
      })
    },
    async close(reason) {
      drop()
      settle((asked) => asked.reject(reason))
      clearTimeout(idle)
      await Promise.all(ending)
    },
  }
}

/** The machine is overloaded: nothing is wrong with the question or with the server. */
function lateStart(ms: number): Refusal {
  const refusal = refuse('too_busy')
  refusal.cause = new Error(`a worker did not start within ${ms} ms`)
  return refusal
}
