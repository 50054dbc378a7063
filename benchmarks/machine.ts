import { execFileSync } from 'node:child_process'
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import { quantile, sorted } from './figures.ts'

export interface Machine {
  date: string
  cpu: string
  cores: number
  memoryGb: number
  load: number
  node: string
  commit: string
  fsyncMs: { p50: number; p99: number }
}

export function machineFacts(folder: string): Machine {
  return {
    date: new Date().toISOString().slice(0, 16),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    load: loadavg()[0] ?? 0,
    node: process.version,
    commit: commit(),
    fsyncMs: fsyncLatency(folder),
  }
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

/** What a commit cannot be faster than: an append of a page and the wait until it is on the disk. */
function fsyncLatency(folder: string): { p50: number; p99: number } {
  const path = join(folder, 'fsync')
  const file = openSync(path, 'w')
  const page = Buffer.alloc(4096, 1)
  const times: number[] = []
  for (let i = 0; i < 300; i++) {
    writeSync(file, page)
    const before = performance.now()
    fsyncSync(file)
    times.push(performance.now() - before)
  }
  closeSync(file)
  rmSync(path)
  const ascending = sorted(times)
  return { p50: quantile(ascending, 0.5), p99: quantile(ascending, 0.99) }
}

export interface Work {
  /** Microseconds on a processor. */
  main: number
  all: number
}

/** What a process has used so far, by the scheduler's clock; undefined where the system does not tell. */
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
