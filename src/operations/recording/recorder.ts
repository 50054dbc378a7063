import type { Config } from '../../config.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { isCompletionId, newId } from '../../domain/ids.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { traceOfCall } from '../../storage/calls/calls.ts'
import { type Database, databaseOf } from '../../storage/database.ts'
import type {
  AskedToRecord,
  EndedAnswer,
  RecordedSpend,
  Recorder,
  Recording,
  RecordingTarget,
} from './answer.ts'
import { callOf } from './call.ts'
import { namedCall } from './named-calls.ts'
import { createAnswerQueue, type QueueEvents, type QueueOptions } from './queue.ts'
import { parentHeader, projectHeader, recordHeader, traceHeader } from './target-headers.ts'

export interface RecorderParts {
  db: Database
  record: Config['record']
  /** Days that calls of a project are kept; 0 means for ever. */
  retentionOf(project: string): Promise<number> | number
  events: QueueEvents & {
    /** The server stops, and this many answers are not in the record. */
    lost(answers: number): void
  }
  queue?: Partial<QueueOptions>
}

/** Time for running answers to end, and then again for their writes, when the server stops. */
const closingMs = 5_000

export interface OpenedRecorder extends Recorder {
  readonly waiting: { count: number; bytes: number }
}

export function createRecorder({
  db,
  record,
  retentionOf,
  events,
  queue: options,
}: RecorderParts): OpenedRecorder {
  const queue = createAnswerQueue(db, events, options)
  let open = 0
  let whenEnded: (() => void) | undefined

  function whyOff({ key }: Caller, { isOff }: RecordingTarget): string | undefined {
    if (record === 'off') return 'HEDDLE_RECORD=off'
    if (key?.record === 'off') return 'your key is set to record: off'
    return isOff ? `this request says ${recordHeader}: off` : undefined
  }

  /** Whether the answer is to be recorded. */
  function isRecorded(asked: AskedToRecord): boolean {
    const { caller, target, store, isAskedForBySilence = false, needing } = asked
    const why = whyOff(caller, target)
    const asking = target.isAsked ? { field: recordHeader, received: 'on' } : needing
    const needed = store === true ? { field: 'store', received: 'true' } : asking
    if (why !== undefined && needed !== undefined) throw refuse('recording_off', { ...needed, why })
    if (why !== undefined) return false
    if (target.isAsked) return true
    return record === 'all' ? store !== false : (store ?? isAskedForBySilence)
  }

  /**
   * Resolves the parent to its own id and its trace. A parent that is given by its own id and trace need not be written
   * yet.
   */
  async function placed({
    caller,
    target,
  }: AskedToRecord): Promise<{ target: RecordingTarget; matches: number }> {
    const { project, parent, trace } = target
    if (parent === null || (trace !== null && !isCompletionId(parent))) return { target, matches: 0 }
    const own = databaseOf(caller.name, db)
    const { id, matches } = await namedCall({ db: own, settled: queue.settled }, project, parent)
    const found = trace !== null && id !== parent ? trace : await traceOfCall(own, project, id, now())
    if (found !== undefined) return { target: { ...target, parent: id, trace: found }, matches }
    throw refuse('parent_not_found', { field: parentHeader, id: parent, project, trace: traceHeader })
  }

  return {
    async open(request, signal) {
      const { caller } = request
      requireAccess(caller, request.target.project, projectHeader)
      if (!isRecorded(request)) return undefined
      const startedAt = now()
      const { target, matches } = await placed(request)
      const asked = { ...request, target }
      const { trace } = target
      const retentionDays = await retentionOf(target.project)
      const { proof } = await queue.ready(caller.name, signal)
      open++
      const callId = newId()
      let isOpen = true
      const ended = () => {
        isOpen = false
        open--
        if (open === 0) whenEnded?.()
      }
      const known = { callId, asked, trace, startedAt, retentionDays }
      let spent: RecordedSpend | undefined
      const rowOf = (result: EndedAnswer, endedAt: number) => ({
        ...callOf({ ...known, result, endedAt }),
        ...(spent && { settlement: spent.settlement }),
      })
      const recording: Recording = {
        callId,
        project: target.project,
        parentMatches: matches,
        proof,
        settles(spend) {
          // Nothing is written any more: a pooled answer whose record refused writes ends later than its recording.
          if (!isOpen) return spend.over(false)
          spent = spend
        },
        end(result) {
          if (!isOpen) return
          if (result === undefined) spent?.over(false)
          else {
            const endedAt = now()
            queue.add({
              tenant: caller.name,
              project: target.project,
              callId,
              completionId: result.completionId,
              bytes: asked.inputs.bytes + result.output.stored.length,
              row: () => rowOf(result, endedAt),
              ...(spent && { over: spent.over }),
            })
          }
          ended()
        },
        async keep(result, write) {
          if (!isOpen) return
          await write(rowOf(result, now()))
          spent?.over(true)
          events.written(1)
          ended()
        },
      }
      return recording
    },
    whyOff,
    modeOf: ({ key }) => (key?.record === 'off' ? 'off' : record),
    settled: (project, id) => queue.settled(project, id),
    get waiting() {
      return queue.waiting
    },
    async close() {
      if (open > 0) {
        let alarm: NodeJS.Timeout | undefined
        await new Promise<void>((resolve) => {
          whenEnded = resolve
          alarm = setTimeout(resolve, closingMs)
        })
        clearTimeout(alarm)
      }
      const lost = (await queue.close(closingMs)) + open
      if (lost > 0) events.lost(lost)
    },
  }
}
