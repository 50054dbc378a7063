import type { Connection } from './connection.ts'
import { commitGroup, type Job, type JobResult } from './group.ts'

/** Jobs in one transaction: enough to share an fsync well, few enough that the first is not kept waiting. */
export const defaultGroupLimit = 256

export interface Writer {
  submit(jobs: readonly Job[]): void
  /** Resolves when everything submitted so far was answered. */
  idle(): Promise<void>
}

/**
 * Takes jobs in, commits what has gathered, answers, and looks again: while one group is on its way to the disk the next
 * one gathers. `gather` may bring in what has arrived but was not seen yet.
 */
export function createWriter(
  connection: Connection,
  deliver: (results: readonly JobResult[]) => void,
  options: { groupLimit?: number; gather?: () => readonly Job[] } = {},
): Writer {
  const limit = options.groupLimit ?? defaultGroupLimit
  const waiting: Job[] = []
  let running: Promise<void> | undefined

  async function drain(): Promise<void> {
    for (;;) {
      if (options.gather) waiting.push(...options.gather())
      if (waiting.length === 0) return
      deliver(await commitGroup(connection, waiting.splice(0, limit)))
    }
  }

  function start(): void {
    running ??= drain().finally(() => {
      running = undefined
      if (waiting.length > 0) start()
    })
  }

  return {
    submit(jobs) {
      waiting.push(...jobs)
      start()
    },
    async idle() {
      while (running) await running
    },
  }
}
