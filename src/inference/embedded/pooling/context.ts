import type { AddonContext, AddonModel, Binding } from '../binding.ts'

export interface PoolingOptions {
  /** Tokens of one text. */
  context: number
  /** The most tokens of one step. */
  batch: number
  threads: number
  /** A score is wanted, not a vector. */
  isRanking: boolean
  flashAttention: 'auto' | false
}

export type PoolingContext = NonNullable<Awaited<ReturnType<typeof openPoolingContext>>>

/**
 * Reads one text at a time: the binding tells the vector of sequence 0 alone, so texts cannot share a batch. Where a token looks
 * at those behind it, the batch has room for the whole of a text.
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
  // Those of all tokens are wanted: the library says so in its log, text by text, unless it is told.
  const all = Uint32Array.from({ length: Math.min(batch, context) }, (_, index) => index)
  return {
    /**
     * What the model makes of the tokens, as it makes it: at least one, and no more than the context has room for. Undefined
     * when nobody wants it any more.
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
