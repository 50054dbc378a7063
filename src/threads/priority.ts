import { readdirSync } from 'node:fs'
import { getPriority, setPriority } from 'node:os'

const lower = 5

/** A server that was started with a lower one may not raise it. */
const lowered = (id: number) => setPriority(id, Math.max(lower, getPriority(id)))

/**
 * For threads and processes whose work may be long: where processors are short, those that answer requests and write come
 * first. On Linux a thread has a priority of its own, elsewhere it would be that of the whole server.
 */
export function giveWay(): void {
  if (process.platform === 'linux') lowered(0)
}

/** Inside a process, with all of its threads: those of V8 that collect garbage take as much time as the one that makes it. */
export function processGivesWay(): void {
  if (process.platform === 'linux')
    for (const thread of readdirSync('/proc/self/task')) lowered(Number(thread))
}
