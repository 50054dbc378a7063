import { textOfMessage } from '../../../packages/conversations/index.ts'
import type { ResultRow, TrialResult } from '../../server/evaluations.ts'
import { type JsonNode, nodeAt, sourceOf, stringOf } from '../../value/json-index.ts'
import { outputMessages } from '../../value/messages.ts'
import { numberText, scoreText } from '../../value/scores.ts'

/** The steps of a field below its first name, as queries read them. */
const stepsOf = (field: string): string[] =>
  field
    .split(/(?<!\\)\./)
    .slice(1)
    .map((step) => step.replaceAll('\\.', '.'))

const scoreIn = ({ scores }: TrialResult, field: string): JsonNode | undefined =>
  nodeAt(scores, ...stepsOf(field))

/** What counts towards a mean: a number, or a boolean as 1 or 0. */
export function numberIn(node: JsonNode | undefined): number | undefined {
  if (node?.kind === 'boolean') return sourceOf(node) === 'true' ? 1 : 0
  return node?.kind === 'number' ? Number(sourceOf(node)) : undefined
}

interface ScoreOfRow {
  mean: number | undefined
  text: string
  /** Trials with a value, and all trials. */
  known: number
  trials: number
}

export function scoreOfRow(row: ResultRow, evaluation: string, field: string): ScoreOfRow | undefined {
  const trials = row.trials.get(evaluation)
  if (trials === undefined) return undefined
  const nodes = trials.map((trial) => scoreIn(trial, field))
  const numbers = nodes.flatMap((node) => numberIn(node) ?? [])
  const mean = numbers.length === 0 ? undefined : numbers.reduce((all, one) => all + one, 0) / numbers.length
  const [only] = nodes
  const isOne = nodes.length === 1 && only !== undefined
  const text = isOne ? scoreText(only) : mean === undefined ? '' : numberText(mean)
  return { mean, text, known: numbers.length, trials: trials.length }
}

/** The text of a value, or of the messages of an answer; undefined for anything else. */
export function explanationIn(node: JsonNode): string | undefined {
  const messages = outputMessages(node) ?? []
  return stringOf(node) ?? (messages.length > 0 ? messages.map(textOfMessage).join('\n\n') : undefined)
}

/** A value as text, to be compared word by word. */
export function textOfValue(node: JsonNode): string {
  return explanationIn(node) ?? sourceOf(node)
}
