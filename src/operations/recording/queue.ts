import { whenAborted } from '../../../packages/waiting/index.ts'
import type { WithSharedTexts } from '../../domain/json/text.ts'
import { Refusal, refuse } from '../../domain/refusals.ts'
import type { RecordedAnswer } from '../../storage/answers/recorded-answers.ts'
import type { Database } from '../../storage/database.ts'

/** An answer that waits to be written. */
interface WaitingAnswer {
  tenant: string
  project: string
  callId: string
  completionId: string
  /** Approximate size in memory. */
  bytes: number
  row(): WithSharedTexts<RecordedAnswer>
  /** It is written, or never will be. */
  over?(isWritten: boolean): void
}

export interface QueueEvents {
  written(answers: number): void
  /** The record refuses writes; what is waiting is kept. */
  refused(refusal: Refusal, waiting: number): void
  recovered(): void
  /** The record accepted others, but not this one. */
  failed(error: unknown, callId: string): void
}

export interface QueueOptions {
  most: { count: number; bytes: number }
  /** How often the record is tried again after a refusal. */
  retryMs: number
  /** A record that accepted a write within this time is not probed. */
  provenMs: number
  /** Answers that end within this time of each other are written together. */
  sharedMs: number
}

const defaultOptions: QueueOptions = {
  most: { count: 2_048, bytes: 64 * 1024 * 1024 },
  retryMs: 500,
  provenMs: 1_000,
  sharedMs: 10,
}

/** Most answers of one write; those that come meanwhile are in the next one. */
const maxGroup = { count: 64, bytes: 1024 * 1024 }

/** Largest share of the queue that one tenant may use. */
const share = 3 / 4

interface Line {
  waiting: Entry[]
  isWriting: boolean
  isPlanned: boolean
  /** How many are to be written one by one, because they failed together. */
  single: number
  count: number
  bytes: number
}

interface Entry {
  answer: WaitingAnswer
  asked: PromiseWithResolvers<void>[]
}

/**
 * Queue of answers to be written to the record. Each tenant has one write at a time, and the next one includes all
 * answers that have come meanwhile or within a few milliseconds, so that flushes to the disk are shared and no tenant's
 * answers wait behind another's. Nothing is dropped: a full queue delays further answers.
 */
export function createAnswerQueue(db: Database, events: QueueEvents, options: Partial<QueueOptions> = {}) {
  const { most, retryMs, provenMs, sharedMs } = { ...defaultOptions, ...options }
  const lines = new Map<string, Line>()
  const entries = new Set<Entry>()
  const roomAsked = new Set<() => void>()
  let bytes = 0
  let refusal: Refusal | undefined
  let retry: NodeJS.Timeout | undefined
  let provenAt = Number.NEGATIVE_INFINITY
  let proving: Promise<void> | undefined
  let whenEmpty: (() => void) | undefined
  let flushedAt = Number.NEGATIVE_INFINITY
  let flushing: NodeJS.Timeout | 'next' | undefined

  function hasRoom(tenant: string): boolean {
    const own = lines.get(tenant)
    return (
      entries.size < most.count &&
      bytes < most.bytes &&
      (own?.count ?? 0) < most.count * share &&
      (own?.bytes ?? 0) < most.bytes * share
    )
  }

  function lineOf(tenant: string): Line {
    let line = lines.get(tenant)
    if (line === undefined) {
      line = { waiting: [], isWriting: false, isPlanned: false, single: 0, count: 0, bytes: 0 }
      lines.set(tenant, line)
    }
    return line
  }

  function plan(line: Line): void {
    if (line.waiting.length === 0 || line.isPlanned || line.isWriting || refusal !== undefined) return
    line.isPlanned = true
    const isUrgent =
      line.waiting.length >= maxGroup.count || line.waiting.some(({ asked }) => asked.length > 0)
    planFlush(isUrgent ? 0 : flushedAt + sharedMs - performance.now())
  }

  function planFlush(ms: number): void {
    if (flushing === 'next' || (flushing !== undefined && ms > 0)) return
    clearTimeout(flushing)
    // Either lets the last bytes of the answer be sent first.
    if (ms > 0) flushing = setTimeout(flush, ms)
    else {
      flushing = 'next'
      setImmediate(flush)
    }
  }

  function flush(): void {
    flushing = undefined
    flushedAt = performance.now()
    for (const [tenant, line] of lines) {
      if (!line.isPlanned) continue
      line.isPlanned = false
      if (refusal === undefined) void write(tenant, line)
    }
  }

  function groupOf({ waiting, single }: Line): Entry[] {
    if (single > 0) return waiting.splice(0, 1)
    let count = 0
    let size = 0
    while (count < waiting.length && count < maxGroup.count && size < maxGroup.bytes) {
      size += (waiting[count] as Entry).answer.bytes
      count++
    }
    return waiting.splice(0, count)
  }

  async function write(tenant: string, line: Line): Promise<void> {
    if (line.isWriting || line.waiting.length === 0) return
    const group = groupOf(line)
    line.isWriting = true
    try {
      await db.write(
        'recordAnswers',
        group.map(({ answer }) => answer.row()),
        tenant,
      )
      line.isWriting = false
      if (line.single > 0) line.single--
      proven()
      gone(tenant, line, group, true)
      events.written(group.length)
    } catch (error) {
      line.isWriting = false
      failed(tenant, line, group, error)
    }
    plan(line)
  }

  function proven(): void {
    provenAt = performance.now()
    if (refusal === undefined) return
    refusal = undefined
    clearTimeout(retry)
    events.recovered()
    for (const line of lines.values()) plan(line)
  }

  /**
   * Retries what the record cannot accept now. If a group fails for another reason, its answers are written one by one
   * to find the faulty one.
   */
  function failed(tenant: string, line: Line, group: Entry[], error: unknown): void {
    if (error instanceof Refusal && (error.status === 503 || error.status === 429)) {
      line.waiting.unshift(...group)
      refused(error)
    } else if (group.length > 1) {
      line.waiting.unshift(...group)
      line.single = group.length
    } else {
      if (line.single > 0) line.single--
      for (const { answer } of group) events.failed(error, answer.callId)
      gone(tenant, line, group, false)
    }
  }

  function refused(reason: Refusal): void {
    if (refusal === undefined) events.refused(reason, entries.size)
    refusal = reason
    clearTimeout(retry)
    retry = setTimeout(tryAgain, retryMs)
    retry.unref()
    for (const { asked } of entries) for (const wait of asked.splice(0)) wait.reject(refusesWrites(reason))
    for (const wake of roomAsked) wake()
  }

  /** Writing one group is enough to find out. */
  function tryAgain(): void {
    for (const [tenant, line] of lines) {
      if (line.isWriting) return
      if (line.waiting.length > 0) return void write(tenant, line)
    }
    refusal = undefined
  }

  function gone(tenant: string, line: Line, group: readonly Entry[], isWritten: boolean): void {
    for (const entry of group) {
      entries.delete(entry)
      line.count--
      line.bytes -= entry.answer.bytes
      bytes -= entry.answer.bytes
      entry.answer.over?.(isWritten)
      for (const wait of entry.asked) wait.resolve()
    }
    if (line.count === 0) lines.delete(tenant)
    for (const wake of roomAsked) wake()
    if (entries.size === 0) whenEmpty?.()
  }

  async function prove(): Promise<void> {
    try {
      await db.probe()
      provenAt = performance.now()
    } catch (error) {
      throw error instanceof Refusal && error.code !== 'stopping' ? refusesWrites(error) : error
    }
  }

  return {
    /**
     * Resolves when there is room for another answer of the tenant. If no write has succeeded lately, a small one is
     * started, which takes as long as the disk does: `proof` rejects if the record refuses writes.
     */
    async ready(tenant: string, signal: AbortSignal): Promise<{ proof: Promise<void> | undefined }> {
      while (refusal === undefined && !hasRoom(tenant)) {
        await new Promise<void>((resolve, reject) => {
          const settle = (call: () => void) => () => {
            roomAsked.delete(wake)
            stay()
            call()
          }
          const wake = settle(resolve)
          roomAsked.add(wake)
          const stay = whenAborted(
            signal,
            settle(() => reject(signal.reason)),
          )
        })
      }
      if (refusal !== undefined) throw refusesWrites(refusal)
      if (performance.now() - provenAt < provenMs) return { proof: undefined }
      proving ??= prove().finally(() => {
        proving = undefined
      })
      // Whoever awaits `proof` gets the error; a request that is refused meanwhile does not await it.
      proving.catch(() => {})
      return { proof: proving }
    },
    add(answer: WaitingAnswer): void {
      const { tenant } = answer
      const line = lineOf(tenant)
      const entry: Entry = { answer, asked: [] }
      entries.add(entry)
      line.waiting.push(entry)
      line.count++
      line.bytes += answer.bytes
      bytes += answer.bytes
      plan(line)
    },
    /** Resolves when no answer with this id, of a call or of a completion, is waiting; none of the project without an id. */
    async settled(project: string, id?: string): Promise<void> {
      if (entries.size === 0) return
      const waits: Promise<void>[] = []
      for (const { answer, asked } of entries) {
        if (answer.project !== project) continue
        if (id !== undefined && answer.callId !== id && answer.completionId !== id) continue
        if (refusal !== undefined) throw refusesWrites(refusal)
        const wait = Promise.withResolvers<void>()
        asked.push(wait)
        waits.push(wait.promise)
      }
      if (waits.length > 0) planFlush(0)
      await Promise.all(waits)
    },
    get waiting() {
      return { count: entries.size, bytes }
    },
    /** Resolves to the number of answers that could not be written within the time; 0 as soon as none is waiting. */
    async close(limitMs: number): Promise<number> {
      if (entries.size > 0) {
        const empty = new Promise<void>((resolve) => {
          whenEmpty = resolve
        })
        if (refusal !== undefined) {
          clearTimeout(retry)
          tryAgain()
        }
        planFlush(0)
        let alarm: NodeJS.Timeout | undefined
        const late = new Promise<void>((resolve) => {
          alarm = setTimeout(resolve, limitMs)
        })
        await Promise.race([empty, late])
        clearTimeout(alarm)
      }
      clearTimeout(retry)
      return entries.size
    },
  }
}

function refusesWrites(cause: Refusal): Refusal {
  const refusal = refuse('record_refuses_writes', { why: cause.message })
  refusal.cause = cause.cause ?? cause
  return refusal
}
