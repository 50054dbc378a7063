import { isPresent } from '../expressions/json-value.ts'
import { opNameOf, parseRef } from '../refs.ts'
import { type EvaluationCall, inputOf } from './evaluation-call.ts'

interface Scoring {
  /** Which call gave which score, by the key of the scores. */
  scorers: Map<string, string>
  /** Scores that arrived after the trial had ended, so that its output does not contain them. */
  late: [key: string, json: string][]
}

/** `keys` are those of the scores in the output of the trial. Each call gives one score; its own name decides which. */
export function scoringOf(
  children: readonly EvaluationCall[],
  keys: readonly string[],
  hasEnded: boolean,
): Scoring {
  const scorers = new Map<string, string>()
  const left = new Set(children)
  for (const { nameOf, read } of ways) {
    if (scorers.size === keys.length || left.size === 0) break
    const byName = Map.groupBy(left, (child) => nameOf(child))
    for (const key of keys) {
      const name = scorers.has(key) ? undefined : read(key)
      const child = name === undefined ? undefined : byName.get(name)?.find((call) => left.has(call))
      if (child === undefined) continue
      left.delete(child)
      scorers.set(key, child.id)
    }
  }
  return { scorers, late: hasEnded ? lateScores(left, scorers) : [] }
}

type Name = string | undefined

/** How calls are matched with keys, the most reliable way first. */
const ways: readonly { nameOf(child: EvaluationCall): Name; read(key: string): Name }[] = [
  { nameOf: ownName, read: (key) => key },
  {
    nameOf: (child) => (scorerName(child) === undefined ? scorerOfOp(child) : undefined),
    read: (key) => key,
  },
  { nameOf: (child) => (looksLikeScorer(child) ? alike(ownName(child)) : undefined), read: alike },
]

function lateScores(children: Iterable<EvaluationCall>, scorers: Map<string, string>): Scoring['late'] {
  const late: Scoring['late'] = []
  for (const child of children) {
    if (child.exception !== null || !isPresent(child.output ?? undefined) || !isMarked(child)) continue
    const key = ownName(child)
    if (scorers.has(key)) continue
    scorers.set(key, child.id)
    late.push([key, child.output as string])
  }
  return late
}

/** If the scorer is an object, its op has the name of the class, and its score the name of the object. */
function ownName(child: EvaluationCall): string {
  return scorerName(child) ?? nameOfSelf(child) ?? scorerOfOp(child)
}

function nameOfSelf(child: EvaluationCall): Name {
  const self = inputOf(child, 'self')
  return self?.[0] === '"' ? nameOfRef(JSON.parse(self)) : undefined
}

function looksLikeScorer(child: EvaluationCall): boolean {
  return /\.score|scorer/i.test(child.op_name) || isMarked(child)
}

/**
 * Removes the usual differences between the names of a function, its object and the key of its score: `ToneScorer`
 * gives `tone`.
 */
function alike(name: string): Name {
  const letters = name.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')
  return letters.replace(/(?<=.)scorer?$/, '') || undefined
}

function scorerOfOp({ op_name }: EvaluationCall): string {
  return opNameOf(op_name).replace(/\.score$/, '')
}

/** The name in the ref of the scorer, if the call has one. */
function scorerName({ attributes }: EvaluationCall): Name {
  if (!attributes?.includes('scorer')) return undefined
  const { weave, ...flat } = JSON.parse(attributes) as Record<string, unknown>
  return nameOfRef(flat['weave.scorer'] ?? memberOf(weave, 'scorer'))
}

function nameOfRef(value: unknown): Name {
  const ref = typeof value === 'string' ? parseRef(value) : undefined
  return ref?.kind === 'object' || ref?.kind === 'op' ? ref.name : undefined
}

/** A call whose attributes mark it as a score. */
export function isMarked({ attributes }: EvaluationCall): boolean {
  if (!attributes?.includes('score')) return false
  const { weave, _weave_eval_meta: meta, ...flat } = JSON.parse(attributes) as Record<string, unknown>
  if (flat['weave.score'] === 'true' || memberOf(weave, 'score') === 'true') return true
  return Boolean(memberOf(meta, 'score'))
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}
