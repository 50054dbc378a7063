import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { quantile, sorted } from './figures.ts'

export interface Latency {
  p50: number
  p99: number
}

/** The lower bound of a commit, in ms: appending a page and waiting until it is on the disk. */
export function fsyncLatency(folder: string): Latency {
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

if (import.meta.main) console.log(JSON.stringify(fsyncLatency(process.argv[2] ?? '.')))
