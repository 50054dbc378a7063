import { type ChildProcess, fork } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { BudgetExceededError, type Start } from './bounded-worker.ts'
import { lowerProcessPriority } from './priority.ts'

interface ProcessOptions {
  entry: URL
  args?: readonly string[]
  heapMb: number
  /** As in "the process for templates". */
  purpose: string
}

/**
 * A process as a worker: it sends `ready`, and then one answer for each question. Of the server's environment variables
 * it sees only the time zone. If it exceeds its memory, only this process ends (docs/decisions/0009).
 */
export function inProcess<Question extends object, Answer>(options: ProcessOptions): Start<Question, Answer> {
  const { entry, args = [], heapMb, purpose } = options
  const { SystemRoot, TZ, NODE_COMPILE_CACHE } = process.env
  return (listener) => {
    const child = fork(entry, args, {
      serialization: 'advanced',
      // With few processors, parallel garbage collection threads take more time than a single one.
      execArgv: [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=4', '--v8-pool-size=1'],
      // What Node needs, and the time zone for templates, without the server's secrets. Undefined ones are left out.
      env: { SystemRoot, TZ, NODE_COMPILE_CACHE },
      // Suppresses V8's report about a full heap.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    child.on('message', (message: 'ready' | Answer) => {
      if (message === 'ready') listener.ready()
      else listener.answer(message)
    })
    child.on('error', (error) => listener.failed(error))
    child.on('exit', (code, signal) => {
      const isMemory = signal === 'SIGABRT' || signal === 'SIGKILL' || code === 134
      listener.failed(
        isMemory
          ? new BudgetExceededError(`${heapMb} MB`)
          : new Error(`the process for ${purpose} has ended with ${signal ?? code}`),
      )
    })
    return {
      ask: (question) => {
        child.send(question, (error) => error && listener.failed(error))
      },
      cpuMs: () => cpuOf(child.pid),
      hold(isHeld) {
        for (const handle of [child, child.channel]) isHeld ? handle?.ref() : handle?.unref()
      },
      end: () => ended(child),
    }
  }
}

/**
 * The processor time that Linux reports, https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html: ticks of ten
 * milliseconds.
 */
async function cpuOf(pid: number | undefined): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1')
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number)
  return 10 * ((user ?? 0) + (system ?? 0))
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = new Promise((resolve) => child.once('exit', resolve))
  child.ref()
  child.kill('SIGKILL')
  await exit
}

/** Called inside such a process: answers its parent's questions one at a time, and ends with the parent. */
export function answerParent<Question, Answer>(
  answer: (question: Question) => Answer,
  { givesWay = true } = {},
): void {
  if (givesWay) lowerProcessPriority()
  process.on('message', (question: Question) => process.send?.(answer(question)))
  // Ctrl+C reaches every process of a terminal. The server finishes its requests first, and this process ends with it.
  process.on('SIGINT', () => undefined)
  process.on('SIGTERM', () => undefined)
  process.on('disconnect', () => process.exit())
  // Written now, because this process is ended by a signal.
  flushCompileCache()
  process.send?.('ready')
}
