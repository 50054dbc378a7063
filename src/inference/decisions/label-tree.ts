import { LRUCache } from 'lru-cache'
import { commonLength } from '../../../packages/engine/index.ts'

/** Labels by their tokens: labels that begin alike share the beginning. */
interface LabelTree {
  /** The labels that end here. */
  labels: number[]
  next: Map<number, LabelTree>
}

/** A way to write one of the labels. */
export interface LabelPath {
  label: number
  tokens: readonly number[]
}

export function labelTreeOf(paths: readonly LabelPath[]): LabelTree {
  const root: LabelTree = { labels: [], next: new Map() }
  for (const { label, tokens } of paths) {
    let node = root
    for (const token of tokens) {
      let next = node.next.get(token)
      if (next === undefined) {
        next = { labels: [], next: new Map() }
        node.next.set(token, next)
      }
      node = next
    }
    if (node !== root && !node.labels.includes(label)) node.labels.push(label)
  }
  return root
}

/** The tokens that may come next, as the model sees them. */
interface TokensRead {
  logprobs: ReadonlyMap<number, number>
  likeliest: number
}

/** Reads tokens after a prompt and returns the log-probabilities of these next ones. */
export type ReadNext = (path: readonly number[], tokens: readonly number[]) => Promise<TokensRead>

interface LabelScores {
  /** The logarithm of the probability that the model begins its answer with the label, over all ways to write it. */
  logprobs: number[]
  isLikeliest: boolean
}

/**
 * A beginning of labels is not followed if it has less than this share of the labels that were found: each of these
 * changes no probability by more than that.
 */
const minShare = 1e-7

/**
 * The product of the conditional probabilities along each way to write a label, as the model gives them: nothing is
 * masked on the way, and no length is divided out.
 */
export async function scoreLabels(root: LabelTree, count: number, read: ReadNext): Promise<LabelScores> {
  const logprobs = new Array<number>(count).fill(-Infinity)
  let isLikeliest = false
  let found = -Infinity

  async function follow(node: LabelTree, path: readonly number[], before: number): Promise<void> {
    const after = await read(path, [...node.next.keys()])
    if (path.length === 0) isLikeliest = node.next.has(after.likeliest)
    const begun: { next: LabelTree; path: readonly number[]; logprob: number }[] = []
    for (const [token, next] of node.next) {
      const logprob = before + (after.logprobs.get(token) ?? -Infinity)
      if (next.labels.length > 0) found = logOfSum(found, logprob)
      for (const label of next.labels) logprobs[label] = logOfSum(logprobs[label] as number, logprob)
      if (next.next.size > 0) begun.push({ next, path: [...path, token], logprob })
    }
    for (const { next, path, logprob } of begun.sort((a, b) => b.logprob - a.logprob)) {
      if (logprob > found + Math.log(minShare)) await follow(next, path, logprob)
    }
  }

  await follow(root, [], 0)
  return { logprobs, isLikeliest }
}

function logOfSum(a: number, b: number): number {
  const most = Math.max(a, b)
  return most === -Infinity ? most : most + Math.log(Math.exp(a - most) + Math.exp(b - most))
}

/** The shares of the labels among themselves, and what they have together. */
export function sharesOf(logprobs: readonly number[]): { probabilities: number[]; mass: number } {
  const most = Math.max(...logprobs)
  if (most === -Infinity) return { probabilities: logprobs.map(() => 1 / logprobs.length), mass: 0 }
  const weights = logprobs.map((logprob) => Math.exp(logprob - most))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return { probabilities: weights.map((weight) => weight / sum), mass: Math.min(1, Math.exp(most) * sum) }
}

interface LabelPlace {
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
