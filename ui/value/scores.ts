import type { ScorerStats } from '../server/evaluations.ts'
import { type JsonNode, sourceOf, stringOf } from './json-index.ts'

/** A path as in queries: `scores.judge.passed`. Dots inside a name are escaped as queries expect. */
export const fieldOf = ({ scorer_key, path }: Pick<ScorerStats, 'scorer_key' | 'path'>): string =>
  `scores.${scorer_key.replaceAll('.', '\\.')}${path === null ? '' : `.${path}`}`

export const scoreName = (field: string): string => field.replace(/^scores\./, '').replaceAll('\\.', '.')

/** A mean with no more digits than are useful. */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-6 || size >= 1e7)) return value.toExponential(2)
  if (size !== 0 && size < 0.0005) return value.toPrecision(2)
  if (Number.isInteger(value)) return String(value)
  return value.toFixed(size < 1 ? 3 : size < 100 ? 2 : 1)
}

export const answerText = (answer: string): string => ({ true: 'yes', false: 'no' })[answer] ?? answer

/** A text, yes or no, or any other value with its fractions rounded. */
export const scoreText = (node: JsonNode): string =>
  stringOf(node) ??
  answerText(sourceOf(node)).replace(/-?\d+\.\d[\d.e+-]*/gi, (digits) => numberText(Number(digits)))

export const shareText = (share: number): string =>
  `${(share * 100).toFixed(share > 0 && share < 1 ? 1 : 0)} %`

/** With its sign. */
export const stepText = (step: number, isShare = false): string => {
  const text = isShare ? `${(Math.abs(step) * 100).toFixed(1)}` : numberText(Math.abs(step))
  return step === 0 ? '±0' : `${step > 0 ? '+' : '−'}${text}`
}

/** A pass rate or a mean of the numbers of a scorer. */
export function shownMean(
  stats: ScorerStats,
): { value: number; isShare: boolean; count: number } | undefined {
  if (stats.value_type === 'binary' && stats.pass_rate !== null)
    return { value: stats.pass_rate, isShare: true, count: stats.pass_known_count }
  if (stats.numeric_mean === null) return undefined
  return { value: stats.numeric_mean, isShare: false, count: stats.numeric_count }
}

export const meanText = ({ value, isShare }: { value: number; isShare: boolean }): string =>
  isShare ? shareText(value) : numberText(value)
