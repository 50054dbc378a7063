import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { fsyncLatency, type Latency } from './fsync.ts'

export interface Machine {
  date: string
  cpu: string
  cores: number
  memoryGb: number
  load: number
  node: string
  commit: string
  system: string
  fsyncMs: Latency
}

export function machineFacts(folder: string): Machine {
  return {
    date: `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC`,
    system: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    load: loadNow(),
    node: process.version,
    commit: commit(),
    fsyncMs: fsyncLatency(folder),
  }
}

/** The load average of the last minute. */
export function loadNow(): number {
  return loadavg()[0] ?? 0
}

function commit(): string {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8', stdio: 'pipe' }).trim()
  try {
    const changed = git('status', '--porcelain', '--', '../src', '../migrations') !== ''
    return git('rev-parse', '--short', 'HEAD') + (changed ? ' with changes' : '')
  } catch {
    return 'unknown'
  }
}

export interface Work {
  /** Microseconds of processor time. */
  main: number
  all: number
}

/** The processor time that a process has used so far, by the scheduler's clock; undefined if the system does not report it. */
export function workOf(pid: number): Work | undefined {
  const onProcessor = (task: string) => {
    try {
      return Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ', 1)[0]) / 1000
    } catch {
      return 0
    }
  }
  try {
    const tasks = readdirSync(`/proc/${pid}/task`)
    return { main: onProcessor(String(pid)), all: tasks.reduce((sum, task) => sum + onProcessor(task), 0) }
  } catch {
    return undefined
  }
}

/** The child processes of a process; none if the system does not report them. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}
