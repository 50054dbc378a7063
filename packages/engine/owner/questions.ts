import { whenAborted } from '../../waiting/index.ts'
import type { Generation, GenerationEvent, Lane, Run } from '../backend.ts'
import { EngineError, engineError } from '../errors.ts'
import { createRunEvents, type RunEvents } from '../events/run-events.ts'
import { receivedEvent } from '../events/sent-events.ts'
import { checkBackgroundRoom, checkQueueRoom, maxBackground } from '../loop/checks.ts'
import type { Pooled, PoolingRequest } from '../pooling/request.ts'
import type { Answer, EngineOptions, Question } from '../protocol.ts'
import type { EngineProcess } from './engine-process.ts'

/** All other answers are about the engine itself. */
export type AnswerToQuestion = Exclude<Answer, { kind: 'loading' | 'loaded' | 'unloadable' | 'pong' }>

/** A question that has been sent: it has a single answer, or it is a run. */
interface Waiting {
  resolve(answer: Answer): void
  /** Called before `resolve` or, for a run, after it. */
  fail(error: unknown): void
  /** Set if it occupies a slot in the engine's queue. */
  slot?: QueueSlot
  run?: { events: RunEvents; unfinished: number }
  each?(pooled: Pooled): void
}

interface QueueSlot {
  tenant: string | undefined
  lane: Lane | undefined
}

/** Tokenizing and detokenizing take a moment: so many texts may wait for it. */
const maxTexts = 256

type Text =
  | Omit<Extract<Question, { kind: 'tokenize' }>, 'id'>
  | Omit<Extract<Question, { kind: 'detokenize' }>, 'id'>

/** The questions sent to the engine that are not completely answered, within the bounds of its queue. */
export function createQuestions({ parallel, queue }: Pick<EngineOptions, 'parallel' | 'queue'>) {
  const asked = new Map<number, Waiting>()
  let ids = 0

  function heard(answer: AnswerToQuestion): void {
    switch (answer.kind) {
      case 'happened':
        for (const [id, event] of answer.events) passOn(id, receivedEvent(event))
        return
      case 'pooled': {
        const waiting = asked.get(answer.id)
        if (answer.isLast) asked.delete(answer.id)
        waiting?.each?.(answer.pooled)
        if (answer.isLast) waiting?.resolve(answer)
        return
      }
      case 'refused':
        settle(answer.id, (waiting) => waiting.fail(new EngineError(answer.code, answer.values)))
        return
      case 'accepted':
        asked.get(answer.id)?.resolve(answer)
        return
      default:
        settle(answer.id, (waiting) => waiting.resolve(answer))
    }
  }

  function settle(id: number, how: (waiting: Waiting) => void): void {
    const waiting = asked.get(id)
    asked.delete(id)
    if (waiting !== undefined) how(waiting)
  }

  function passOn(id: number, event: GenerationEvent): void {
    const run = asked.get(id)?.run
    if (run === undefined) return
    run.events.push(event)
    if (event.kind === 'finished' && --run.unfinished === 0) {
      asked.delete(id)
      run.events.end()
    }
  }

  function checkRoom({ tenant, lane }: QueueSlot): void {
    const slots = Array.from(asked.values()).flatMap(({ slot }) => slot ?? [])
    const others = slots.filter((slot) => slot.lane === lane)
    if (lane === 'background') checkBackgroundRoom(others.length)
    else checkQueueRoom(others, tenant, { parallel, queue })
  }

  /**
   * Asks a question and resolves when it is completely answered. Questions in the engine's queue are withdrawn on
   * abort.
   */
  async function ask(
    engine: EngineProcess,
    question: (id: number) => Question,
    signal: AbortSignal,
    pooling: Pick<Waiting, 'slot' | 'each'> = {},
  ): Promise<Answer> {
    const id = ++ids
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    asked.set(id, { resolve, fail: reject, ...pooling })
    engine.say(question(id))
    const stay = whenAborted(signal, () => {
      asked.delete(id)
      if (pooling.slot !== undefined) engine.say({ kind: 'leave', id })
      reject(signal.reason)
    })
    try {
      return await promise
    } finally {
      stay()
    }
  }

  return {
    heard,
    /** The engine is gone and answers nothing more: fails all open questions; returns how many. */
    lost(why: () => EngineError): number {
      const open = Array.from(asked.values())
      asked.clear()
      for (const waiting of open) waiting.fail(why())
      return open.length
    },
    async text(engine: EngineProcess, text: Text, signal: AbortSignal): Promise<Answer> {
      if (asked.size >= parallel + queue + maxBackground + maxTexts) {
        throw engineError('engine_queue_full', { limit: maxTexts })
      }
      return ask(engine, (id) => ({ ...text, id }), signal)
    },
    async pool(
      engine: EngineProcess,
      request: PoolingRequest,
      each: (pooled: Pooled) => void,
      signal: AbortSignal,
    ): Promise<void> {
      const slot: QueueSlot = { tenant: request.tenant, lane: undefined }
      checkRoom(slot)
      await ask(engine, (id) => ({ kind: 'pool', id, request }), signal, { slot, each })
    },
    async generate(engine: EngineProcess, generation: Generation, signal: AbortSignal): Promise<Run> {
      const slot: QueueSlot = { tenant: generation.tenant, lane: generation.lane }
      checkRoom(slot)
      const id = ++ids
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      const leave = () => {
        asked.delete(id)
        engine.say({ kind: 'leave', id })
        fail(signal.reason)
      }
      const events = createRunEvents({
        onLeft: leave,
        onEnd: () => stay(),
      })
      const fail = (error: unknown) => {
        reject(error)
        events.end(error)
      }
      const stay = whenAborted(signal, leave)
      asked.set(id, { resolve, fail, slot, run: { events, unfinished: generation.choices } })
      engine.say({ kind: 'generate', id, generation })
      const answer = await promise
      if (answer.kind !== 'accepted') throw new Error(`the engine answered ${answer.kind} to a generation`)
      return { promptTokens: answer.promptTokens, events }
    },
  }
}
