import { meanOf } from '../../domain/statistics/intervals.ts'
import type { DecisionAnswer } from './decision.ts'

/** The answer to a question whose options were shown in one order. */
export interface Scored {
  /** In the order of the options. */
  probabilities: readonly number[]
  mass: number
  isLikeliest: boolean
}

/** Over the orders in which the options were shown. */
export function averageOf(scored: readonly Scored[]): DecisionAnswer {
  const of = (option: number) => scored.map(({ probabilities }) => probabilities[option] as number)
  const options = [...(scored[0]?.probabilities ?? []).keys()]
  const spreads = options.map((option) => Math.max(...of(option)) - Math.min(...of(option)))
  return {
    probabilities: options.map((option) => meanOf(of(option))),
    mass: meanOf(scored.map(({ mass }) => mass)),
    isLikeliest: scored.every(({ isLikeliest }) => isLikeliest),
    ...(scored.length > 1 && { spread: Math.max(...spreads) }),
  }
}
