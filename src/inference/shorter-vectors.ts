import { refuse } from '../domain/refusals.ts'
import type { ServedModel } from './backend.ts'

/**
 * Cuts vectors to a length and normalizes them again. Only for models trained to have the most information in the first
 * numbers.
 */
export function shortening(
  { dimensions: own, shorter }: Pick<ServedModel, 'dimensions' | 'shorter'>,
  asked: number | undefined,
): (vector: Float32Array) => Float32Array {
  if (asked === undefined || asked === own) return (vector) => vector
  const isTaken = own !== undefined && asked < own && (shorter === 'any' || shorter?.includes(asked))
  if (!isTaken) {
    const others = shorter === 'any' ? `1 to ${own}` : [...(shorter ?? []), own].join(', ')
    const why = shorter === undefined ? ': this model does not say that its vectors can be cut' : ''
    throw refuse('invalid_value', {
      field: 'dimensions',
      given: String(asked),
      accepted: own === undefined ? 'nothing: this model makes no vectors' : `${others}${why}`,
    })
  }
  return (vector) => {
    const first = vector.subarray(0, asked)
    const length = Math.hypot(...first) || 1
    return first.map((value) => value / length)
  }
}
