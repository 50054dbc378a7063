import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import {
  type Batch,
  type HeldBatch,
  hasDueBatch,
  isOfMessages,
  readBatch,
} from '../../storage/batches/batches.ts'
import { type BatchLine, waitingLines } from '../../storage/batches/lines.ts'
import { fileOfProject, type WireFile } from '../../storage/batches/wire-files.ts'
import { databaseOf } from '../../storage/database.ts'
import { pieceBytes, readPiece } from '../../storage/objects/files.ts'
import { boundTo } from '../../storage/transaction.ts'
import { type BackgroundWork, inBackground } from '../background.ts'
import type { FindCaller } from '../background-asking.ts'
import type { OperationParts } from '../parts.ts'

const idleMs = 1_000
const failedMs = 5_000
/** After a turn that failed. */
const restMs = 30_000
/** Then another batch is next. */
const turnMs = 10_000
const linesAtOnce = 64
/** A batch whose hold is not renewed for this long is taken by another process. */
const leaseMs = 10_000
const lookMs = 1_000
const looksPerRenewal = 3

const inMicroseconds = (ms: number) => ms * 1_000

interface BatchSettings {
  parallel: number
  findCaller: FindCaller
}

/**
 * Answers batches as background work. Batches take turns, and each is worked on by one process at a time. They begin and
 * end beside those whose lines are asked: a slow answer delays no cancellation.
 */
export function startBatches(
  app: FastifyInstance,
  services: OperationParts,
  settings: BatchSettings,
  failed: (error: unknown) => void,
): BackgroundWork {
  const works = [startTurns(app, services, settings, false, failed)]
  if (services.models.all.length > 0) works.push(startTurns(app, services, settings, true, failed))
  return {
    async stop() {
      await Promise.all(works.map((work) => work.stop()))
    },
  }
}

function startTurns(
  app: FastifyInstance,
  services: OperationParts,
  { parallel, findCaller }: BatchSettings,
  mayAsk: boolean,
  failed: (error: unknown) => void,
): BackgroundWork {
  const { db: ofServer, batchLines } = services
  const holder = newId()
  /** The line of a batch behind which its next turn begins, if those before it have to wait. */
  const waitingUpTo = new Map<string, number>()

  return inBackground({
    firstMs: idleMs,
    failedMs,
    failed,
    async run(signal) {
      if (!(await hasDueBatch(ofServer, now(), mayAsk))) return idleMs
      const until = now() + inMicroseconds(leaseMs)
      const batch = await ofServer.write('takeBatch', { holder, now: now(), until, mayAsk })
      if (batch === undefined) return idleMs
      const held = { project_id: batch.project_id, id: batch.id, holder }
      let pauseMs = restMs
      try {
        pauseMs = await holding(held, batch, signal, (ended) => turn(batch, held, ended))
      } finally {
        await ofServer.write('releaseBatch', {
          ...held,
          until: pauseMs === 0 ? 0 : now() + inMicroseconds(pauseMs),
        })
      }
      return 0
    },
  })

  /** Returns for how long the batch rests. */
  async function turn(batch: Batch, held: HeldBatch, ended: AbortSignal): Promise<number> {
    const db = databaseOf(batch.user_name, ofServer)
    if (batch.ended_at !== null) {
      await db.writeInBackground('dropBatchLines', held)
      return 0
    }
    const { status } = batch
    const { finishFiles } = await import('./finishing.ts')
    if (status === 'cancelling') await finishFiles(boundTo(db, ended), batch, held, 'cancelled')
    else if (status === 'finalizing' || (batch.expires_at <= now() && !isFindingRequests(batch))) {
      await db.write('finalizeBatch', { ...held, now: now() })
      const isWhole = batch.total > 0 && (await waitingLines(db, held, 0, 1)).length === 0
      await finishFiles(boundTo(db, ended), batch, held, isWhole ? 'completed' : 'expired')
    } else {
      const input = await fileOfProject(db, batch.project_id, batch.input_file_id)
      // Its project was deleted.
      if (input === undefined) return restMs
      if (status === 'validating') {
        const { validateInput } = await import('./validating.ts')
        // Those of a batch of messages were counted when it was created.
        const maxLines = Math.max(batchLines, batch.total)
        await validateInput({ db, batch, held, input, maxLines, signal: ended })
      } else return lines(batch, held, input, ended)
    }
    return 0
  }

  /** Returns 0 if the turn is over or nothing is left to ask, else until when the batch rests. */
  async function lines(batch: Batch, held: HeldBatch, input: WireFile, ended: AbortSignal): Promise<number> {
    const db = databaseOf(batch.user_name, ofServer)
    const [{ askLine }, { finishFiles }] = await Promise.all([
      import('./asking.ts'),
      import('./finishing.ts'),
    ])
    const overAt = performance.now() + turnMs
    const read = createLineReader(db, batch.project_id, input.upload_id)
    let waitMs = 0
    /** Lines in a row that have to wait. Those behind them may be for another model, or cost less. */
    let waits = 0
    let next: BatchLine[] = []
    const begun = waitingUpTo.get(batch.id) ?? 0
    waitingUpTo.delete(batch.id)
    let last = begun
    let isLast = false
    let filling: Promise<void> | undefined
    const fill = async () => {
      next = await waitingLines(db, held, last, linesAtOnce)
      last = next.at(-1)?.line ?? last
      isLast = next.length === 0
    }
    const isOver = () => isLast || waits >= 2 * parallel || ended.aborted || performance.now() > overAt
    const worker = async () => {
      while (!isOver()) {
        const line = next.shift()
        if (line === undefined) {
          filling ??= fill().finally(() => {
            filling = undefined
          })
          await filling
          continue
        }
        const text = await read(line)
        const answer = await askLine({ app, findCaller, batch, line, text, signal: ended })
        if ('waitMs' in answer) {
          waitMs = Math.max(waitMs, answer.waitMs)
          waits += 1
          if (waits === 2 * parallel) waitingUpTo.set(batch.id, line.line)
          continue
        }
        waits = 0
        // What another process has taken over is over here.
        if ((await db.write('settleLine', { ...held, line: line.line, ...answer })) === undefined)
          isLast = true
      }
    }
    const workers = await Promise.allSettled(Array.from({ length: parallel }, worker))
    if (ended.aborted) return 0
    for (const { reason } of workers.filter((result) => result.status === 'rejected')) throw reason
    // Lines before the first of this turn come next.
    if (isLast && begun > 0) return 0
    if (waitMs > 0) return waitMs
    if ((await waitingLines(db, held, 0, 1)).length > 0) return 0
    await db.write('finalizeBatch', { ...held, now: now() })
    await finishFiles(boundTo(db, ended), batch, held, 'completed')
    return 0
  }

  /** Aborts the work when the server stops, when the batch is cancelled, has expired, or is held by another process. */
  async function holding(
    held: HeldBatch,
    batch: Batch,
    signal: AbortSignal,
    work: (ended: AbortSignal) => Promise<number>,
  ): Promise<number> {
    const over = new AbortController()
    const done = new AbortController()
    const ended = AbortSignal.any([signal, over.signal])
    const { status, expires_at, ended_at } = batch
    const isOpen = (status === 'validating' || status === 'in_progress') && ended_at === null
    const isAsking = isOpen && !isFindingRequests(batch)
    const looking = (async () => {
      for (let looks = 1; ; looks++) {
        await sleep(lookMs, undefined, { signal: done.signal, ref: false })
        const isDue = looks % looksPerRenewal === 0
        const until = now() + inMicroseconds(leaseMs)
        if (isDue && !(await ofServer.write('holdBatch', { ...held, until }))) over.abort()
        const seen = await readBatch(ofServer, held)
        if (seen?.held_by !== holder) over.abort()
        else if (isAsking && (seen.status === 'cancelling' || expires_at <= now())) over.abort()
      }
    })().catch((error: unknown) => {
      if (!done.signal.aborted) over.abort(error)
    })
    try {
      return await work(ended)
    } catch (error) {
      if (ended.aborted) return 0
      throw error
    } finally {
      done.abort()
      await looking
    }
  }
}

/** The results of a batch of messages name every request, also of one that is cancelled or expires at once. */
const isFindingRequests = (batch: Batch) => batch.status === 'validating' && isOfMessages(batch)

/** Leaves out the mark with which some programs begin a file. */
const lineText = new TextDecoder()

/** Reads lines of an input. Those that are asked together are mostly in the same piece. */
function createLineReader(db: OperationParts['db'], project: string, upload: string) {
  const pieces = new Map<number, ReturnType<typeof readPiece>>()
  function piece(position: number) {
    let found = pieces.get(position)
    if (found === undefined) {
      found = readPiece(db, project, upload, position)
      pieces.set(position, found)
      for (const old of pieces.keys()) {
        if (pieces.size <= 2) break
        pieces.delete(old)
      }
    }
    return found
  }
  return async ({ at, length }: BatchLine): Promise<string> => {
    const read: Uint8Array[] = []
    for (let from = at; from < at + length; ) {
      const bytes = await piece(Math.floor(from / pieceBytes))
      if (bytes === undefined) throw new Error(`a file has no piece at ${from}`)
      const begin = from % pieceBytes
      const some = bytes.subarray(begin, Math.min(bytes.length, begin + at + length - from))
      read.push(some)
      from += some.length
    }
    return lineText.decode(Buffer.concat(read))
  }
}
