import type { NativeModel } from '../native/native.ts'
import type { EngineOptions } from '../protocol.ts'
import { createInputs } from './inputs.ts'
import { createPoolingLoop, type PoolingListener } from './loop.ts'
import type { PoolingRequest } from './request.ts'

/** The engine of a model that makes vectors of texts or scores of pairs. */
export async function openPooling(model: NativeModel, options: EngineOptions, listener: PoolingListener) {
  const isRanking = options.task === 'ranking'
  const context = await model.openPooling({ ...options, isRanking })
  const tokensOf = createInputs(model, options.context)
  const loop = createPoolingLoop(context, listener, isRanking ? scoreOf(model) : direction)
  /** Requests whose tokens are not known yet. */
  const arriving = new Map<number, AbortController>()

  async function pool(id: number, request: PoolingRequest): Promise<void> {
    const leaving = new AbortController()
    arriving.set(id, leaving)
    try {
      const tokens = await tokensOf(request, leaving.signal)
      if (!leaving.signal.aborted) loop.add(id, request, tokens)
    } catch (error) {
      if (!leaving.signal.aborted) throw error
    } finally {
      arriving.delete(id)
    }
  }

  return {
    model,
    pool,
    work: {
      ...loop,
      leave(id: number) {
        arriving.get(id)?.abort()
        loop.leave(id)
      },
      load() {
        const { waiting, ...load } = loop.load()
        return { ...load, waiting: waiting + arriving.size }
      },
    },
    close: () => context.close(),
  }
}

/** The vector scaled to length 1, which is what clients compare. */
function direction(made: Float64Array): Float32Array {
  let squares = 0
  for (const value of made) squares += value * value
  if (!Number.isFinite(squares)) throw new Error('the model returned a vector that is not all finite numbers')
  const length = Math.sqrt(squares) || 1
  return Float32Array.from(made, (value) => value / length)
}

/** Architectures whose scores llama.cpp has already turned into probabilities (`build_pooling` in llama-graph.cpp). */
const toldAsProbability = new Set(['qwen3', 'qwen3vl'])

/** From 0 to 1. With several labels, the first is the one for yes. */
function scoreOf({ architecture }: NativeModel): (made: Float64Array) => Float32Array {
  return ([made = Number.NaN]) => {
    if (!Number.isFinite(made)) throw new Error('the model returned a score that is not a number')
    return Float32Array.of(toldAsProbability.has(architecture) ? made : 1 / (1 + Math.exp(-made)))
  }
}
