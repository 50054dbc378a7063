import { cut } from './span.ts'

/** What an export was answered: what was left out, while the rest was stored. */
export interface PartialSuccess {
  rejected: number
  /** Without a rejected item it is a warning. */
  errorMessage: string
}

export type Signal = 'traces' | 'logs' | 'metrics'

/** Names the project of resources that do not name their own. */
export const projectHeader = 'project_id'

const rejectedNames = {
  traces: 'rejectedSpans',
  logs: 'rejectedLogRecords',
  metrics: 'rejectedDataPoints',
} as const

export function jsonAnswer({ rejected, errorMessage }: PartialSuccess, signal: Signal) {
  if (rejected === 0 && errorMessage === '') return {}
  return { partialSuccess: { [rejectedNames[signal]]: String(rejected), errorMessage } }
}

/** A span, a record or what was found in one, and where it goes. */
export interface InProject<Item> {
  item: Item
  project: string
}

const maxMessages = 20

/** What the answer says of the items that were not stored, or not recognised. */
export interface Report {
  reject(why: string): void
  count(what: string, name: string): void
  result(): PartialSuccess
}

export function createReport(): Report {
  let rejected = 0
  const messages: string[] = []
  const counts = new Map<string, number>()
  return {
    reject(why) {
      rejected++
      if (messages.length < maxMessages) messages.push(why)
    },
    count(what, name) {
      const key = `${what}: ${cut(name)}`
      if (counts.has(key) || counts.size < maxMessages) counts.set(key, (counts.get(key) ?? 0) + 1)
    },
    result() {
      const counted = [...counts].map(([what, count]) => (count > 1 ? `${what} (${count} times)` : what))
      return { rejected, errorMessage: [...messages, ...counted].join('; ') }
    },
  }
}
