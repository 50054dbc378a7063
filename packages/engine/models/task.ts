import type { ModelTask } from '../backend.ts'
import type { GgufHeader } from './gguf-header.ts'

/** The task of a model; undefined if it has none that is served here. A model that pools writes no text. */
export function taskOf({ pooling, causal }: Pick<GgufHeader, 'pooling' | 'causal'>): ModelTask | undefined {
  if (pooling !== undefined) return pooling === 'rank' ? 'ranking' : 'embeddings'
  return causal ? 'answers' : undefined
}

/** llama.cpp scores by the last token of these, and by the first of others (`llm_graph_input_cls`). */
const scoresTheLast = new Set(['qwen3', 'qwen3vl'])

/** Whether a text may be read in pieces: no token attends to later ones, and the last one has the result. */
export function readsInPieces({
  pooling,
  causal,
  architecture,
}: Pick<GgufHeader, 'pooling' | 'causal' | 'architecture'>): boolean {
  return causal && (pooling === 'last' || (pooling === 'rank' && scoresTheLast.has(architecture)))
}
