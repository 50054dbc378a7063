import type { Gate } from './reading.ts'

/** What has to hold, in the words of the server's refusal. */
export function conditionText(condition: Gate['conditions'][number]): string {
  if ('max_cost' in condition) return `a trial costs at most ${condition.max_cost}`
  if ('max_latency_seconds' in condition) return `a trial takes at most ${condition.max_latency_seconds} s`
  const { field } = condition
  if ('min_difference' in condition) return `${field} differs by at least ${condition.min_difference}`
  if ('min_rate' in condition) return `${field} passes at a rate of at least ${condition.min_rate}`
  return `${field} is worse in no row`
}

export const isCompared = ({ conditions }: Gate): boolean =>
  conditions.some((condition) => 'min_difference' in condition || 'no_row_lost' in condition)

/** What a gate did not let pass, each condition with what was found. */
export const failedConditions = (reason: string): string[] =>
  reason.replace(/^.*? does not pass the gate of label ".*?": |\.$/g, '').split(/; (?=[^;]*, but )/)
