import type { AddonContext, AddonModel, Binding } from '../binding.ts'

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
 * Reads one text at a time: the binding returns only the vector of sequence 0, so texts cannot share a batch. If tokens
 * attend to later ones, the batch has room for a whole text.
 */
export async function openPoolingContext(
  binding: Binding,
  model: AddonModel,
  { context, batch, threads, isRanking, flashAttention }: PoolingOptions,
) {
  const addon: AddonContext = new binding.AddonContext(model, {
    contextSize: context,
    batchSize: Math.min(batch, context),
    sequences: 1,
    threads,
    flashAttention,
    swaFullCache: true,
    embeddings: true,
    ranking: isRanking,
  })
  if (!(await addon.init())) return undefined
  // The output of all tokens is wanted; unless requested, the library logs a line about it for each text.
  const all = Uint32Array.from({ length: Math.min(batch, context) }, (_, index) => index)
  return {
    /**
     * The model's output for the tokens, unchanged: at least one token, and no more than the context has room for.
     * Undefined when it is no longer wanted.
     */
    async read(tokens: readonly number[], isWanted: () => boolean): Promise<Float64Array | undefined> {
      addon.removeTokenCellsFromSequence(0, 0, -1)
      for (let from = 0; from < tokens.length; from += all.length) {
        if (!isWanted()) return undefined
        const piece = Uint32Array.from(tokens.slice(from, from + all.length))
        addon.initBatch(piece.length)
        addon.addToBatch(0, from, piece, all.subarray(0, piece.length))
        await addon.decodeBatch()
      }
      return addon.getEmbedding(tokens.length)
    },
    close: () => addon.dispose(),
  }
}
