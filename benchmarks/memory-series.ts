import { readdirSync, readFileSync } from 'node:fs'
import { quantile, sorted } from './figures.ts'

/** The private memory of a server's processes, in MB by name. Pages of mapped files are not counted. */
export function heldBy(pid: number): Map<string, number> {
  const held = new Map([['server', anonymousMemory(pid)]])
  for (const child of childrenOf(pid)) {
    const name = nameOf(child)
    held.set(name, (held.get(name) ?? 0) + anonymousMemory(child))
  }
  return held
}

/** How much larger the end of a series is than its middle, as a share. Medians are compared, because garbage comes and goes. */
export function growthOf(series: readonly number[]): number {
  const second = series.slice(Math.floor(series.length / 2))
  const part = Math.max(1, Math.floor(second.length / 4))
  const median = (values: readonly number[]) => quantile(sorted(values), 0.5)
  return median(second.slice(-part)) / median(second.slice(0, part)) - 1
}

function anonymousMemory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
}

/** Named by the file that the process runs: the engine, or the template renderer. */
function nameOf(pid: number): string {
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  return /packages\/engine\/process/.test(command)
    ? 'engine'
    : /rendering/.test(command)
      ? 'templates'
      : 'others'
}
