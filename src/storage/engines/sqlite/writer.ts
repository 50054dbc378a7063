import { receiveMessageOnPort, workerData } from 'node:worker_threads'
import { SqliteError } from 'better-sqlite3'
import { createFairQueue } from '../../../threads/fair-queue.ts'
import { releaseStartupMemory } from '../../../threads/startup-memory.ts'
import { portToParent } from '../../../threads/thread.ts'
import type { Change } from '../../changes.ts'
import { divisibleCommands, unflushedCommands } from '../../commands.ts'
import { type Connection, connect, reclaimPages, scrub } from './connection.ts'
import { describeFailure, type JobFailure, partlyStored } from './failures.ts'
import { commitGroup, type Job, type JobResult } from './group.ts'
import { createLogCheck } from './log.ts'
import { type FileLoss, lossOf, type OpenedFiles, refuseLost } from './opened-files.ts'
import { createWritingTenants, type Spent } from './writing-tenants.ts'

/** Jobs in one transaction: enough to share an fsync well, few enough not to delay the first one. */
export const defaultGroupLimit = 256

/**
 * While several tenants write, groups are short, and a job that would make a group longer waits for the next one. So a
 * tenant with large jobs delays the others by one job at a time, and then rests for as long. The jobs of a group take
 * about as long as its flush to the disk, which everyone in the group waits for in any case. For jobs with many bytes
 * the flush itself takes long, so a group is bounded in bytes too.
 */
const shortestGroupMs = 1
const maxGroupMs = 3
const groupBytes = 256 * 1024

/** Items per part when a list is written in parts because other tenants are writing. */
const partLength = 64

/** While several tenants write, background work rests for this many times as long as it took. */
const backgroundRestFactor = 3

/** The most runs of a background job before its caller gets an answer. */
const backgroundRuns = 64

interface Divided {
  tenant: string
  rest: Job
  /** Whether a part of the list is stored. */
  isStored: boolean
  changes: Change[]
}

interface WriterOptions {
  groupLimit?: number
  /** Collects jobs that have arrived but were not read yet. */
  collect?: () => readonly Job[]
  loss?: () => FileLoss | undefined
  clock?: Clock
  /** Called after each group. */
  committed?: () => void
  /** Whether changes are reported with the results of jobs. */
  isWatched?: () => boolean
}

interface Clock {
  /** Milliseconds. */
  now(): number
  /** Ends early when the function passed to `wakes` is called. */
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
 * Collects jobs, commits the waiting ones as a group, answers them, and looks for more. While one group is being
 * flushed the next one forms; tenants take turns in it.
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
  const background: { job: Job; runs: number }[] = []
  let backgroundRestsUntil = 0
  /** The remaining items of lists that are partly written, by job id. */
  const divided = new Map<number, Divided>()
  const tenants = createWritingTenants(now)
  const isShared = (tenant: string) => waiting.hasOthers(tenant) || tenants.hasOthers(tenant)
  /** How long recent groups took, apart from their jobs. */
  let flushMs = maxGroupMs
  let running: Promise<void> | undefined
  let lost: JobFailure | undefined
  let wake = () => {}

  function take(jobs: readonly Job[]): void {
    for (const job of jobs) {
      if (job.isBackground) background.push({ job, runs: 0 })
      else waiting.add(job.tenant ?? '', job)
    }
  }

  type Taken = { tenant: string; job: Job }

  /**
   * Whether a power cut may undo the job. A list in parts is answered with its last part, which takes the others to the
   * disk.
   */
  const isUndoable = (tenant: string, { name, input }: Job) =>
    unflushedCommands.has(name) ||
    (divisibleCommands.has(name) && itemsOf(input) > partLength && isShared(tenant))

  /** The first part of a list. The rest is put back ahead of the tenant's other jobs. */
  function partOf({ tenant, job }: Taken): Job {
    const items = job.input as readonly unknown[]
    const rest = { ...job, input: items.slice(partLength) }
    waiting.putBack(tenant, rest)
    const { isStored = false, changes = [] } = divided.get(job.id) ?? {}
    divided.set(job.id, { tenant, rest, isStored, changes })
    return { ...job, input: items.slice(0, partLength) }
  }

  /**
   * Jobs that a power cut may undo are grouped separately, so that they do not wait for the disk while others do. What
   * the jobs of each tenant took is added to `spent`.
   */
  function* nextGroup(first: Taken, isSoon: boolean, spent: Map<string, Spent>): Generator<Job> {
    const since = now()
    const groupMs = Math.max(shortestGroupMs, Math.min(maxGroupMs, flushMs))
    let lookAt = since + maxGroupMs
    let bytes = 0
    // The result of a part must be known before the next part is written.
    const partIds = new Set<number>()
    let next: Taken | undefined = first
    for (let jobs = 1; next !== undefined; jobs++) {
      const { tenant } = next
      const began = now()
      const isPart = isSoon && !unflushedCommands.has(next.job.name)
      const job = isPart ? partOf(next) : next.job
      if (isPart) partIds.add(job.id)
      const own = bytesOf(job.input)
      bytes += own
      yield job
      const at = now()
      tenants.note(tenant, at - began)
      const before = spent.get(tenant) ?? { jobs: 0, ms: 0, bytes: 0 }
      spent.set(tenant, { jobs: before.jobs + 1, ms: before.ms + at - began, bytes: before.bytes + own })
      if (jobs === limit) return
      if (options.collect && at > lookAt) {
        take(options.collect())
        lookAt = now() + maxGroupMs
      }
      const fits = (other: string, { input }: Job) =>
        at - since + tenants.expectedMs(other) <= groupMs && bytes + bytesOf(input) <= groupBytes
      next = waiting.take(
        (other, candidate) =>
          !tenants.rests(other) &&
          !partIds.has(candidate.id) &&
          (isUndoable(other, candidate) === isSoon || (!isSoon && !isShared(other))) &&
          (!isShared(other) || fits(other, candidate)),
      )
    }
  }

  async function drain(): Promise<void> {
    for (;;) {
      if (options.collect) take(options.collect())
      const first = waiting.take((tenant) => !tenants.rests(tenant))
      if (first !== undefined) {
        const since = now()
        const spent = new Map<string, Spent>()
        const isSoon = isUndoable(first.tenant, first.job)
        const jobs = nextGroup(first, isSoon, spent)
        const results = await (isSoon ? commitSoon(jobs) : commit(jobs))
        const tookMs = now() - since
        if (!isSoon) flushMs = (flushMs + tookMs - workMs(spent)) / 2
        tenants.rest(spent, tookMs)
        const answers = results.flatMap((result) => answerOf(result, isSoon))
        if (answers.length > 0) deliver(answers)
        options.committed?.()
      } else if (background.length > 0 && now() >= backgroundRestsUntil) await runBackground()
      else if (waiting.size > 0 || background.length > 0) await nextRested()
      else return
    }
  }

  /**
   * If there were several parts, the result has the changes of all of them. A part before the last is answered only if
   * it fails.
   */
  function answerOf(result: JobResult, isSoon: boolean): JobResult[] {
    const list = divided.get(result.id)
    if (list === undefined) return [result]
    if ('failure' in result) {
      waiting.remove(list.tenant, list.rest)
      divided.delete(result.id)
      return [list.isStored ? { ...result, failure: partlyStored(result.failure) } : result]
    }
    list.isStored = true
    for (const change of result.changes ?? []) list.changes.push(change)
    if (isSoon) return []
    divided.delete(result.id)
    return [list.changes.length > 0 ? { ...result, changes: list.changes } : result]
  }

  /** All tenants that wait are resting: sleep until the first has rested, or another tenant writes. */
  function nextRested(): Promise<void> {
    let ms = background.length > 0 ? backgroundRestsUntil - now() : Number.POSITIVE_INFINITY
    waiting.take((tenant) => {
      ms = Math.min(ms, tenants.restMs(tenant))
      return false
    })
    // Its rest may already be over.
    return sleep(Math.max(0, ms), (call) => {
      wake = call
    })
  }

  /** Writes to files that are no longer those of the record are not confirmed. */
  async function commit(jobs: Iterable<Job>): Promise<JobResult[]> {
    const refused = (failure: JobFailure, of: Iterable<{ id: number }>) =>
      Array.from(of, ({ id }) => ({ id, failure }))
    if (lost !== undefined) return refused(lost, jobs)
    const results = await commitGroup(connection, jobs, options.isWatched?.())
    const loss = options.loss?.()
    if (loss === undefined) return results
    lost = describeFailure(refuseLost(loss))
    // Earlier writes may be only in the log, which no longer has a name.
    if (loss.isLogMissing) emptyLog(connection)
    return refused(lost, results)
  }

  /** Reaches the disk with the next write. If the power is cut before that, it is as if it had not run. */
  function commitSoon(jobs: Iterable<Job>): Promise<JobResult[]> {
    connection.handle.pragma('synchronous = NORMAL')
    return commit(jobs).finally(() => connection.handle.pragma('synchronous = FULL'))
  }

  async function runBackground(): Promise<void> {
    const [first] = background as [(typeof background)[number]]
    const since = now()
    const results = await commitSoon([first.job])
    if (tenants.areSeveral) backgroundRestsUntil = now() + backgroundRestFactor * (now() - since)
    const hasMore = results.some((result) => 'value' in result && result.value === true)
    if (hasMore && ++first.runs < backgroundRuns) return
    background.shift()
    deliver(results)
  }

  function start(): void {
    running ??= drain().finally(() => {
      running = undefined
      if (waiting.size > 0 || background.length > 0) start()
    })
  }

  return {
    submit(jobs: readonly Job[]): void {
      take(jobs)
      wake()
      start()
    },
    /** Resolves when everything submitted so far is answered. */
    async idle(): Promise<void> {
      while (running) await running
    },
  }
}

const workMs = (spent: ReadonlyMap<string, Spent>): number =>
  Array.from(spent.values()).reduce((sum, { ms }) => sum + ms, 0)

const itemsOf = (input: unknown): number => (Array.isArray(input) ? input.length : 0)

/** The binary bytes of a write, such as those of a file or of a large value. */
function bytesOf(input: unknown): number {
  if (ArrayBuffer.isView(input) || input instanceof SharedArrayBuffer) return input.byteLength
  // A long list costs the time to process its items, which is measured separately.
  if (typeof input !== 'object' || input === null || itemsOf(input) > partLength) return 0
  return Object.values(input).reduce((sum: number, member) => sum + bytesOf(member), 0)
}

/**
 * Copies the log into the database file, so that the file alone is the whole record. If that fails, the log is left as
 * it is.
 */
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

/** A long list is sent in parts ahead of its job. */
export type WriterMessage =
  | { jobs: Job[] }
  | { id: number; items: readonly unknown[] }
  | { id: number; reclaim: number }
  | { id: number; scrub: number }
  | { watched: boolean }
  /**
   * Requests a number that changes whenever another connection writes
   * (https://www.sqlite.org/pragma.html#pragma_data_version).
   */
  | { id: number; ask: 'version' }
  | 'close'

export type WriterAnswer = readonly JobResult[] | 'log is long'

/** Where `startThread` finds this file, before and after the build. */
export const writerThread = import.meta.url

/** What the thread runs. */
/** A thread that has written nothing for so long gives back the memory of its last writes. */
const idleMs = 10_000

export function serve(): void {
  const port = portToParent()
  const { file, opened, groupLimit } = workerData as WriterThreadData
  const connection = connect(file, 'write')
  let state: 'open' | 'closing' | 'closed' = 'open'
  const sentAhead = new Map<number, unknown[]>()
  let watched = false
  const idle = setTimeout(() => void releaseStartupMemory().catch(() => undefined), idleMs).unref()

  /** Joins a job with the parts of its input that were sent ahead. */
  function whole(job: Job): Job {
    const before = sentAhead.get(job.id)
    if (before === undefined) return job
    sentAhead.delete(job.id)
    return { ...job, input: before }
  }

  function receive(message: WriterMessage): Job[] {
    if (message === 'close') state = 'closing'
    else if ('jobs' in message) {
      idle.refresh()
      return sentAhead.size > 0 ? message.jobs.map(whole) : message.jobs
    } else if ('items' in message) {
      const list = sentAhead.get(message.id) ?? []
      sentAhead.set(message.id, list)
      for (const item of message.items) list.push(item)
    } else if ('watched' in message) watched = message.watched
    else if ('ask' in message) {
      port.postMessage([
        { id: message.id, value: connection.handle.pragma('data_version', { simple: true }) },
      ])
    } else if ('scrub' in message)
      port.postMessage([{ id: message.id, value: scrub(connection, message.scrub) }])
    else port.postMessage([{ id: message.id, value: reclaimPages(connection, message.reclaim) }])
    return []
  }

  // Jobs that arrived while the last group was being flushed join the next one.
  function collect(): Job[] {
    const jobs: Job[] = []
    for (let next = receiveMessageOnPort(port); next; next = receiveMessageOnPort(port)) {
      jobs.push(...receive(next.message as WriterMessage))
    }
    return jobs
  }

  const loss = () => lossOf(file, opened)
  const isLogLong = createLogCheck(connection.handle)
  const writer = createWriter(connection, (results) => port.postMessage(results), {
    groupLimit,
    collect,
    loss,
    isWatched: () => watched,
    committed: () => isLogLong() && port.postMessage('log is long' satisfies WriterAnswer),
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
