import { type Backend, EngineError, type GenerationEvent, type Run } from '../../packages/engine/index.ts'
import { passOnRefusal } from '../domain/refusals.ts'

/** The engine's errors are refusals of the catalogue, with the same codes and values. */
function refuse(error: unknown): never {
  if (!(error instanceof EngineError)) throw error
  const { code, values } = error
  throw passOnRefusal({ code, values })
}

const refusingEvents = (events: Run['events']): Run['events'] => ({
  [Symbol.asyncIterator](): AsyncIterator<GenerationEvent[]> {
    const iterator = events[Symbol.asyncIterator]()
    return {
      next: () => iterator.next().catch(refuse),
      return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
    }
  },
})

/** An engine as the rest of the server knows it: what it does not do, it refuses. */
export function withRefusals<Engine extends Backend>(engine: Engine): Engine {
  return {
    ...engine,
    tokenize: (...args) => engine.tokenize(...args).catch(refuse),
    detokenize: (...args) => engine.detokenize(...args).catch(refuse),
    pool: (...args) => engine.pool(...args).catch(refuse),
    async generate(...args) {
      const { promptTokens, events } = await engine.generate(...args).catch(refuse)
      return { promptTokens, events: refusingEvents(events) }
    },
  }
}
