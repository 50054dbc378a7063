import { type ChildProcess, fork } from 'node:child_process'
import { extname } from 'node:path'
import { refuse } from '../../domain/refusals.ts'
import { createFairLine } from '../../threads/fair-line.ts'
import type { Rendering, RenderQuestion } from './rendering.ts'

/**
 * Renders chat templates. A template of a request is code of a stranger, so it runs in a process of its own that is ended
 * when it takes too long. A thread would not do: when one list of it outgrows its heap, V8 ends the whole process
 * (docs/decisions/0009).
 */
export interface Prompts {
  /** `tenant` is whose request it is: those who wait take turns, so that one slows another down by one rendering each. */
  render(tenant: string, question: RenderQuestion, signal: AbortSignal): Promise<string>
  close(): Promise<void>
}

export interface PromptOptions {
  /** Processor time of one rendering, and the time after which its process is ended, whatever it does. */
  limitMs: number
  longestMs: number
  startMs: number
  heapMb: number
  longestText: number
  longestList: number
  /** Renderings that may wait: of one tenant, and of all. */
  line: number
  longestLine: number
  /** Unused for so long, the process and its 50 MB go; the next rendering starts another. */
  idleMs: number
  /** The module of the process, for tests. */
  entry: URL
}

const defaults: PromptOptions = {
  limitMs: 1_000,
  longestMs: 5_000,
  startMs: 30_000,
  heapMb: 192,
  longestText: 8 * 1024 * 1024,
  longestList: 1_000_000,
  line: 256,
  longestLine: 1_024,
  idleMs: 600_000,
  // Before the build and after it.
  entry: new URL(`./rendering-process${extname(import.meta.url)}`, import.meta.url),
}

interface Job {
  question: RenderQuestion
  resolve(text: string): void
  reject(error: Error): void
}

export function createPrompts(given: Partial<PromptOptions> = {}): Prompts {
  const options = { ...defaults, ...given }
  const line = createFairLine<Job>({ ofTenant: options.line, ofAll: options.longestLine })
  let running: Job | undefined
  let child: ChildProcess | undefined
  let ready = false
  let answered = 0
  let alarm: NodeJS.Timeout | undefined
  let idle: NodeJS.Timeout | undefined
  let closed = false
  const ending = new Set<Promise<unknown>>()

  function next(): void {
    if (running !== undefined) return
    running = line.take()
    clearTimeout(idle)
    if (running !== undefined) {
      ask()
      return
    }
    hold(false)
    idle = setTimeout(drop, options.idleMs).unref()
  }

  function ask(): void {
    child ??= start()
    hold(true)
    const job = running
    if (!ready || job === undefined) return
    const asked = child
    asked.send(job.question, (error) => error && failed(asked, error))
    // The answer may be here already, behind whatever has made this process late.
    wake(() => setImmediate(stop, job), options.longestMs)
  }

  /** There is one thing at a time that may take too long. */
  function wake(call: () => void, ms: number): void {
    clearTimeout(alarm)
    alarm = setTimeout(call, ms)
  }

  function stop(late: Job): void {
    if (running !== late) return
    drop()
    settle((job) => job.reject(tooCostly(`${options.longestMs} ms`)))
  }

  function settle(answer: (job: Job) => void): void {
    clearTimeout(alarm)
    const job = running
    running = undefined
    if (job !== undefined) answer(job)
    if (!closed) next()
  }

  /** A process that is asked nothing keeps nobody else alive. */
  function hold(isHeld: boolean): void {
    if (isHeld) {
      child?.ref()
      child?.channel?.ref()
    } else {
      child?.unref()
      child?.channel?.unref()
    }
  }

  function drop(): void {
    const old = child
    child = undefined
    ready = false
    answered = 0
    if (old === undefined || old.exitCode !== null || old.signalCode !== null) return
    const ended: Promise<unknown> = new Promise((resolve) => old.once('exit', resolve)).finally(() =>
      ending.delete(ended),
    )
    ending.add(ended)
    old.ref()
    old.kill('SIGKILL')
  }

  function start(): ChildProcess {
    const { limitMs, longestText, longestList, heapMb } = options
    const started = fork(options.entry, [limitMs, longestText, longestList].map(String), {
      serialization: 'advanced',
      execArgv: [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=4'],
      // No secret of the server is within its reach.
      env: environmentOf(process.env),
      // What V8 says about a heap that is full is no news.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    started.on('message', (message: 'ready' | Rendering) => {
      if (child !== started) return
      if (message === 'ready') {
        ready = true
        ask()
      } else {
        answered++
        settle((job) => deliver(job, message))
      }
    })
    started.on('error', (error) => failed(started, error))
    started.on('exit', (code, signal) => {
      const isMemory = signal === 'SIGABRT' || signal === 'SIGKILL' || code === 134
      failed(
        started,
        isMemory
          ? tooCostly(`${heapMb} MB`)
          : new Error(`the process for templates has ended with ${signal ?? code}`),
      )
    })
    wake(() => failed(started, new Error('the process for templates did not start')), options.startMs)
    return started
  }

  function failed(which: ChildProcess | undefined, error: Error): void {
    if (which === undefined || child !== which) return
    const mayBeOfAnother = answered > 0
    drop()
    if (mayBeOfAnother && running !== undefined) {
      // It may have died of what an earlier template left behind, so this one is asked again, as the first.
      ask()
      return
    }
    settle((job) => job.reject(error))
  }

  return {
    render(tenant, question, signal) {
      if (closed) return Promise.reject(refuse('stopping'))
      if (signal.aborted) return Promise.reject(signal.reason)
      // What would be refused in the end is not carried there first.
      const { longestText } = options
      if (lengthOf(question) > longestText) return Promise.reject(tooCostly(`${longestText} characters`))
      return new Promise<string>((resolve, reject) => {
        const leave = () => {
          line.leave(tenant, job)
          reject(signal.reason)
        }
        const after =
          <Value>(call: (value: Value) => void) =>
          (value: Value) => {
            signal.removeEventListener('abort', leave)
            call(value)
          }
        const job: Job = { question, resolve: after(resolve), reject: after(reject) }
        line.join(tenant, job)
        signal.addEventListener('abort', leave, { once: true })
        next()
      })
    },
    async close() {
      closed = true
      clearTimeout(idle)
      drop()
      settle((job) => job.reject(refuse('stopping')))
      for (const job of line.clear()) job.reject(refuse('stopping'))
      await Promise.all(ending)
    },
  }
}

function deliver(job: Job, rendering: Rendering): void {
  if (rendering.kind === 'rendered') job.resolve(rendering.text)
  else if (rendering.kind === 'costly') job.reject(tooCostly(rendering.limit))
  else job.reject(refuse('template_failed', { field: 'chat_template', why: rendering.why }))
}

function lengthOf({ messages }: RenderQuestion): number {
  let length = 0
  for (const { content } of messages) {
    length +=
      typeof content === 'string' ? content.length : content.reduce((sum, text) => sum + text.length, 0)
  }
  return length
}

function tooCostly(limit: string): Error {
  return refuse('template_too_costly', { field: 'chat_template', limit })
}

/** What a process needs to run at all, and the time zone that templates see. */
function environmentOf(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { SystemRoot, TZ, NODE_COMPILE_CACHE } = environment
  return {
    ...(SystemRoot !== undefined && { SystemRoot }),
    ...(TZ !== undefined && { TZ }),
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
  }
}
