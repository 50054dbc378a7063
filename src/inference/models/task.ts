import type { ModelTask } from '../backend.ts'
import type { GgufHeader } from './gguf-header.ts'

/** What the model of a file is for; undefined where it is for nothing here. One that pools writes no text. */
export function taskOf({ pooling, causal }: Pick<GgufHeader, 'pooling' | 'causal'>): ModelTask | undefined {
  if (pooling !== undefined) return pooling === 'rank' ? 'ranking' : 'embeddings'
  return causal ? 'answers' : undefined
}

/** llama.cpp takes the last token of these for their score, and the first of others (`llm_graph_input_cls`). */
const scoresTheLast = new Set(['qwen3', 'qwen3vl'])

/** No token looks at those behind it, and the last one says it all: a text may be read piece by piece. */
export function readsInPieces({
  pooling,
  causal,
  architecture,
}: Pick<GgufHeader, 'pooling' | 'causal' | 'architecture'>): boolean {
  return causal && (pooling === 'last' || (pooling === 'rank' && scoresTheLast.has(architecture)))
}
