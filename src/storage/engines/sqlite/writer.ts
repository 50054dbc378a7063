import { receiveMessageOnPort, workerData } from 'node:worker_threads'
import { SqliteError } from 'better-sqlite3'
import { createFairQueue } from '../../../threads/fair-queue.ts'
import { ownPort } from '../../../threads/thread.ts'
import { undoable } from '../../commands.ts'
import { type Connection, connect, reclaimPages } from './connection.ts'
import { describeFailure, type JobFailure } from './failures.ts'
import { commitGroup, type Job, type JobResult } from './group.ts'
import { isLogLong } from './log.ts'
import { type FileLoss, lossOf, type OpenedFiles, refuseLost } from './opened-files.ts'
import { createWritingTenants } from './writing-tenants.ts'

/** Jobs in one transaction: enough to share an fsync well, few enough that the first is not kept waiting. */
export const defaultGroupLimit = 256

/**
 * While several tenants write, a group is short, and a job that would make it longer waits for the next one: a tenant with
 * large jobs delays the others by one of them, and rests for as long before its next. What weighs many bytes takes its time when it goes to the disk.
 */
const groupMs = 3
const groupBytes = 256 * 1024

/** Runs of a job that can wait, before its caller gets an answer. */
const runsBehind = 64

interface WriterOptions {
  groupLimit?: number
  /** Brings in what has arrived but was not seen yet. */
  collect?: () => readonly Job[]
  loss?: () => FileLoss | undefined
  clock?: Clock
  /** Called after each group. */
  committed?: () => void
  /** Whether changes are told with what came of a job. */
  isWatched?: () => boolean
}

interface Clock {
  /** Milliseconds. */
  now(): number
  /** Ends earlier when what is given to `wakes` is called. */
  sleep(ms: number, wakes: (call: () => void) => void): Promise<void>
}

const realClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, wakes) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      wakes(() => {
        clearTimeout(timer)
        resolve()
      })
    }),
}

/**
 * Takes jobs in, commits those that wait as a group, answers, and looks again: while one group is on its way to the disk the
 * next one forms, and tenants take turns in it.
 */
export function createWriter(
  connection: Connection,
  deliver: (results: readonly JobResult[]) => void,
  options: WriterOptions = {},
) {
  const { now, sleep } = options.clock ?? realClock
  const limit = options.groupLimit ?? defaultGroupLimit
  const waiting = createFairQueue<Job>({
    perTenant: Number.POSITIVE_INFINITY,
    total: Number.POSITIVE_INFINITY,
  })
  const behind: { job: Job; runs: number }[] = []
  const tenants = createWritingTenants(now)
  const isShared = (tenant: string) => waiting.tenants > 1 || tenants.hasOthers(tenant)
  let running: Promise<void> | undefined
  let lost: JobFailure | undefined
  let wake = () => {}

  function take(jobs: readonly Job[]): void {
    for (const job of jobs) {
      if (job.behind) behind.push({ job, runs: 0 })
      else waiting.add(job.tenant ?? '', job)
    }
  }

  type Taken = { tenant: string; job: Job }

  /**
   * Jobs that a power cut may undo go together with their like, so that they wait for no disk and others do. `spent` is told
   * what the jobs of each tenant took.
   */
  function* nextGroup(first: Taken, spent: Map<string, number>): Generator<Job> {
    const isUndoable = undoable.has(first.job.name)
    const since = now()
    let lookAt = since + groupMs
    let bytes = 0
    let next: Taken | undefined = first
    for (let jobs = 1; next !== undefined; jobs++) {
      const { tenant, job } = next
      const began = now()
      bytes += bytesOf(job.input)
      yield job
      const at = now()
      tenants.note(tenant, at - began)
      spent.set(tenant, (spent.get(tenant) ?? 0) + at - began)
      if (jobs === limit) return
      if (options.collect && at > lookAt) {
        take(options.collect())
        lookAt = now() + groupMs
      }
      const fits = (other: string, { input }: Job) =>
        at - since + tenants.expectedMs(other) <= groupMs && bytes + bytesOf(input) <= groupBytes
      next = waiting.take(
        (other, one) =>
          !tenants.rests(other) &&
          (undoable.has(one.name) === isUndoable || (!isUndoable && !isShared(other))) &&
          (!isShared(other) || fits(other, one)),
      )
    }
  }

  async function drain(): Promise<void> {
    for (;;) {
      if (options.collect) take(options.collect())
      const first = waiting.take((tenant) => !tenants.rests(tenant))
      if (first !== undefined) {
        const since = now()
        const spent = new Map<string, number>()
        const jobs = nextGroup(first, spent)
        const results = await (undoable.has(first.job.name) ? commitSoon(jobs) : commit(jobs))
        tenants.rest(spent, now() - since)
        deliver(results)
        options.committed?.()
      } else if (behind.length > 0) await runBehind()
      else if (waiting.size > 0) await nextRested()
      else return
    }
  }

  /** All whose writes wait have to rest: until the first has, or somebody else writes. */
  function nextRested(): Promise<void> {
    let ms = Number.POSITIVE_INFINITY
    waiting.take((tenant) => {
      ms = Math.min(ms, tenants.restMs(tenant))
      return false
    })
    return sleep(ms, (call) => {
      wake = call
    })
  }

  /** Nothing is answered that went into files which are not those of the record any more. */
  async function commit(jobs: Iterable<Job>): Promise<JobResult[]> {
    const refused = (failure: JobFailure, of: Iterable<{ id: number }>) =>
      Array.from(of, ({ id }) => ({ id, failure }))
    if (lost !== undefined) return refused(lost, jobs)
    const results = await commitGroup(connection, jobs, options.isWatched?.())
    const loss = options.loss?.()
    if (loss === undefined) return results
    lost = describeFailure(refuseLost(loss))
    // What was answered before may be in the log alone, which has no name any more.
    if (loss.isLogMissing) emptyLog(connection)
    return refused(lost, results)
  }

  /** It reaches the disk with the next write. If the power is cut before that, it is as if it had not run yet. */
  function commitSoon(jobs: Iterable<Job>): Promise<JobResult[]> {
    connection.handle.pragma('synchronous = NORMAL')
    return commit(jobs).finally(() => connection.handle.pragma('synchronous = FULL'))
  }

  async function runBehind(): Promise<void> {
    const [first] = behind as [(typeof behind)[number]]
    const results = await commitSoon([first.job])
    const hasMore = results.some((result) => 'value' in result && result.value === true)
    if (hasMore && ++first.runs < runsBehind) return
    behind.shift()
    deliver(results)
  }

  function start(): void {
    running ??= drain().finally(() => {
      running = undefined
      if (waiting.size > 0 || behind.length > 0) start()
    })
  }

  return {
    submit(jobs: readonly Job[]): void {
      take(jobs)
      wake()
      start()
    },
    /** Resolves when everything submitted so far was answered. */
    async idle(): Promise<void> {
      while (running) await running
    },
  }
}

/** Of the bytes that a write brings as such, like those of a file. */
function bytesOf(input: unknown): number {
  if (ArrayBuffer.isView(input) || input instanceof SharedArrayBuffer) return input.byteLength
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return 0
  return Object.values(input).reduce((sum: number, member) => sum + bytesOf(member), 0)
}

/** Takes the log into the file, so that the file alone is the whole record. Where that fails, the log stays as it is. */
function emptyLog({ handle }: Connection): void {
  try {
    handle.pragma('wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (!(error instanceof SqliteError)) throw error
  }
}

export interface WriterThreadData {
  file: string
  opened: OpenedFiles
  groupLimit: number
}

/** A long list comes in parts before the job that it belongs to. */
export type WriterMessage =
  | { jobs: Job[] }
  | { id: number; part: readonly unknown[] }
  | { id: number; reclaim: number }
  | { watched: boolean }
  /** Asks for a number that changes whenever another connection writes (https://www.sqlite.org/pragma.html#pragma_data_version). */
  | { id: number; ask: 'version' }
  | 'close'

export type WriterAnswer = readonly JobResult[] | 'log is long'

/** Where `startThread` finds this file, before and after the build. */
export const writerThread = import.meta.url

/** What the thread does. */
export function serve(): void {
  const port = ownPort()
  const { file, opened, groupLimit } = workerData as WriterThreadData
  const connection = connect(file, 'write')
  let state: 'open' | 'closing' | 'closed' = 'open'
  const parts = new Map<number, unknown[]>()
  let watched = false

  /** With what came of its input before. */
  function whole(job: Job): Job {
    const before = parts.get(job.id)
    if (before === undefined) return job
    parts.delete(job.id)
    return { ...job, input: before }
  }

  function receive(message: WriterMessage): Job[] {
    if (message === 'close') state = 'closing'
    else if ('jobs' in message) return parts.size > 0 ? message.jobs.map(whole) : message.jobs
    else if ('part' in message) {
      const list = parts.get(message.id) ?? []
      parts.set(message.id, list)
      for (const item of message.part) list.push(item)
    } else if ('watched' in message) watched = message.watched
    else if ('ask' in message) {
      port.postMessage([
        { id: message.id, value: connection.handle.pragma('data_version', { simple: true }) },
      ])
    } else port.postMessage([{ id: message.id, value: reclaimPages(connection, message.reclaim) }])
    return []
  }

  // What else has arrived while the last group was on its way to the disk joins the next one.
  function collect(): Job[] {
    const jobs: Job[] = []
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      jobs.push(...receive(next.message as WriterMessage))
    }
    return jobs
  }

  const loss = () => lossOf(file, opened)
  const writer = createWriter(connection, (results) => port.postMessage(results), {
    groupLimit,
    collect,
    loss,
    isWatched: () => watched,
    committed: () => isLogLong(connection.handle) && port.postMessage('log is long' satisfies WriterAnswer),
  })

  port.on('message', async (message: WriterMessage) => {
    const jobs = receive(message)
    if (jobs.length > 0) writer.submit(jobs)
    await writer.idle()
    if (state !== 'closing') return
    state = 'closed'
    emptyLog(connection)
    connection.close()
    port.close()
  })
}
