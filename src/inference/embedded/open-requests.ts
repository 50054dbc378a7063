import type { Answering, Request } from './request.ts'
import { createSlotQueue } from './turns/slot-queue.ts'

export type OpenRequests = ReturnType<typeof createOpenRequests>

/** The unfinished requests, and where their answers are: in a queue, or running on a sequence. */
export function createOpenRequests() {
  const requests = new Map<number, Request>()
  const running = new Set<Answering>()
  const queue = createSlotQueue<Answering>()
  /** Background work without a sequence, or that has lost its own. */
  const behind = createSlotQueue<Answering>()
  const queueOf = ({ isBackground }: Answering) => (isBackground ? behind : queue)

  return {
    running,
    queue,
    behind,
    queueOf,
    get size() {
      return requests.size
    },
    get: (id: number) => requests.get(id),
    add(request: Request): void {
      requests.set(request.id, request)
    },
    /** Drops a request whose answers are no longer wanted. Those that run are released between two batches. */
    drop(request: Request): void {
      requests.delete(request.id)
      for (const answering of request.unfinished) queueOf(answering).remove(answering)
    },
    isGone: ({ request }: Pick<Answering, 'request'>) => !requests.has(request.id),
    runningOf: (isBackground: boolean): Answering[] =>
      Array.from(running).filter((one) => one.isBackground === isBackground),
    finished(answering: Answering): void {
      const { unfinished, id } = answering.request
      unfinished.delete(answering)
      if (unfinished.size === 0) requests.delete(id)
    },
    /** Requests of callers only. */
    counts(): { running: number; waiting: number } {
      const asked = Array.from(requests.values()).filter(({ generation }) => generation.lane === undefined)
      const waiting = asked.reduce((count, { hasBegun }) => count + (hasBegun ? 0 : 1), 0)
      return { running: asked.length - waiting, waiting }
    },
  }
}
