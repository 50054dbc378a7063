import { LRUCache } from 'lru-cache'
import { commonLength } from '../embedded/sequences.ts'
import { type LabelPath, type LabelTree, labelTreeOf } from './label-tree.ts'

export interface LabelPlace {
  tree: LabelTree
  /** So many tokens at the end of the prompt are replaced, because a label changes how they are written. */
  cut: number
}

/**
 * Finds the tokens of labels behind the end of a prompt, as the tokenizer writes them there: a template may end with a
 * space that belongs to the label. Of a label, the first spelling is followed over all of its tokens; others count where
 * they are one. `tail` is what a tokenizer has to see of the prompt: from its last control token on.
 */
export function createLabelPaths(tokenize: (text: string) => Promise<number[]>) {
  const known = new LRUCache<string, LabelPlace>({ max: 64 })

  async function find(tail: string, labels: readonly (readonly string[])[]): Promise<LabelPlace> {
    const base = await tokenize(tail)
    const paths: (LabelPath & { cut: number })[] = []
    for (const [label, spellings] of labels.entries()) {
      for (const [index, spelling] of spellings.entries()) {
        const whole = await tokenize(tail + spelling)
        const shared = commonLength(base, whole)
        const cut = base.length - shared
        if (index === 0 || whole.length - base.length === 1) {
          paths.push({ label, cut, tokens: whole.slice(shared) })
        }
      }
    }
    const cut = Math.max(...paths.map((path) => path.cut))
    const placed = paths.map(({ label, cut: own, tokens }) => ({
      label,
      tokens: [...base.slice(base.length - cut, base.length - own), ...tokens],
    }))
    return { tree: labelTreeOf(placed), cut }
  }

  return async (tail: string, labels: readonly (readonly string[])[]): Promise<LabelPlace> => {
    const key = JSON.stringify([tail, labels])
    const found = known.get(key) ?? (await find(tail, labels))
    known.set(key, found)
    return found
  }
}
