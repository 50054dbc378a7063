import { readdirSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

const lower = 5

/** A server that was started with a lower priority may not raise it. */
const lowered = (id: number) => setPriority(id, Math.max(lower, getPriority(id)))

/**
 * For threads and processes whose work may be long: when processors are scarce, threads that answer requests and write
 * go first. On Linux each thread has its own priority; elsewhere this would lower the whole server's.
 */
export function lowerThreadPriority(): void {
  if (process.platform === 'linux') lowered(0)
}

/**
 * Called inside a process, for all of its threads: V8's garbage collection threads use as much time as the thread that
 * makes the garbage.
 */
export function lowerProcessPriority(): void {
  if (process.platform === 'linux')
    for (const thread of readdirSync('/proc/self/task')) lowered(Number(thread))
}
