import { openLlamaContext } from '../llama/context.ts'
import type { LoadedModel } from '../llama/model.ts'
import type { Build } from '../native/build.ts'

export interface PoolingOptions {
  /** Most tokens of one text. */
  context: number
  /** Most tokens of one step. */
  batch: number
  threads: number
  /** A score is wanted instead of a vector. */
  isRanking: boolean
  flashAttention: 'auto' | false
}

export type PoolingContext = NonNullable<Awaited<ReturnType<typeof openPoolingContext>>>

/**
 * Reads one text at a time, as sequence 0. If tokens attend to later ones, the batch has room for a whole text.
 */
export async function openPoolingContext(
  build: Build,
  llama: LoadedModel,
  { context, batch, threads, isRanking, flashAttention }: PoolingOptions,
) {
  const native = await openLlamaContext(build, llama, {
    cells: context,
    sequences: 1,
    batch: Math.min(batch, context),
    threads,
    flashAttention,
    pools: isRanking ? 'scores' : 'vectors',
  })
  if (native === undefined) return undefined
  // The output of all tokens is wanted; unless requested, the library logs a line about it for each text.
  const all = Uint32Array.from({ length: Math.min(batch, context) }, (_, index) => index)
  return {
    /**
     * The model's output for the tokens, unchanged: at least one token, and no more than the context has room for.
     * Undefined when it is no longer wanted.
     */
    async read(tokens: readonly number[], isWanted: () => boolean): Promise<Float64Array | undefined> {
      native.forget(0, 0)
      for (let from = 0; from < tokens.length; from += all.length) {
        if (!isWanted()) return undefined
        const piece = Uint32Array.from(tokens.slice(from, from + all.length))
        native.begin()
        native.add(0, from, piece, all.subarray(0, piece.length))
        if (!(await native.decode())) return undefined
      }
      return native.embedding()
    },
    /** Stops reading; the result is undefined. */
    stop: native.stop,
    close: native.close,
  }
}
