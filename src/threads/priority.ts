import { setPriority } from 'node:os'

const lower = 5

/**
 * For threads and processes whose work may be long: where processors are short, those that answer requests and write come
 * first. On Linux a thread has a priority of its own, elsewhere it would be that of the whole server.
 */
export function giveWay(): void {
  if (process.platform === 'linux') setPriority(lower)
}
