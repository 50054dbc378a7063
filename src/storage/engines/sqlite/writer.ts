import type { Connection } from './connection.ts'
import { commitGroup, type Job, type JobResult } from './group.ts'

/** Jobs in one transaction: enough to share an fsync well, few enough that the first is not kept waiting. */
export const defaultGroupLimit = 256

/** Runs of a job that can wait, before its caller gets an answer. */
const runsBehind = 64

export interface Writer {
  submit(jobs: readonly Job[]): void
  /** Resolves when everything submitted so far was answered. */
  idle(): Promise<void>
}

/**
 * Takes jobs in, commits those that wait as a group, answers, and looks again: while one group is on its way to the disk the
 * next one forms. `collect` may bring in what has arrived but was not seen yet.
 */
export function createWriter(
  connection: Connection,
  deliver: (results: readonly JobResult[]) => void,
  options: { groupLimit?: number; collect?: () => readonly Job[] } = {},
): Writer {
  const limit = options.groupLimit ?? defaultGroupLimit
  const waiting: Job[] = []
  const behind: { job: Job; runs: number }[] = []
  let running: Promise<void> | undefined

  function take(jobs: readonly Job[]): void {
    for (const job of jobs) {
      if (job.behind) behind.push({ job, runs: 0 })
      else waiting.push(job)
    }
  }

  async function drain(): Promise<void> {
    for (;;) {
      if (options.collect) take(options.collect())
      if (waiting.length > 0) deliver(await commitGroup(connection, waiting.splice(0, limit)))
      else if (behind.length > 0) await runBehind()
      else return
    }
  }

  async function runBehind(): Promise<void> {
    const [first] = behind as [(typeof behind)[number]]
    // It reaches the disk with the next write. If the power is cut before that, it is as if it had not run yet.
    connection.handle.pragma('synchronous = NORMAL')
    const results = await commitGroup(connection, [first.job]).finally(() =>
      connection.handle.pragma('synchronous = FULL'),
    )
    const hasMore = results.some((result) => 'value' in result && result.value === true)
    if (hasMore && ++first.runs < runsBehind) return
    behind.shift()
    deliver(results)
  }

  function start(): void {
    running ??= drain().finally(() => {
      running = undefined
      if (waiting.length > 0 || behind.length > 0) start()
    })
  }

  return {
    submit(jobs) {
      take(jobs)
      start()
    },
    async idle() {
      while (running) await running
    },
  }
}
