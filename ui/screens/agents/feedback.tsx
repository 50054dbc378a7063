import type { ComponentChildren } from 'preact'
import { useLoading } from '../../server/loading.ts'
import { numberText } from '../../value/scores.ts'
import { countText } from '../../value/units.ts'
import { type AgentFeedback, readAgentFeedback } from './reading.ts'

/** The longest time over which the server groups feedback. */
const maxMs = 31 * 86_400_000

/** As the server names a rating that has no name. */
const unnamed = '_rating_'

/** What was said about agents, or about versions of one; undefined for a time that is too long. */
export function useFeedback(project: string, since: Date | undefined, agent?: string) {
  const isGrouped = since !== undefined && Date.now() - since.getTime() < maxMs
  const { value, error } = useLoading(
    async (signal) => (isGrouped ? readAgentFeedback(project, since, agent, signal) : undefined),
    [project, since, agent],
  )
  return {
    feedbackOf: isGrouped ? (name: string) => value?.get(name) : undefined,
    note: error && <p class="muted note">Feedback could not be counted: {error.message}</p>,
  }
}

/** How much there is, and the mean of its ratings; each of them in the tooltip. */
export function feedbackCell(feedback: AgentFeedback | undefined): ComponentChildren {
  if (feedback === undefined) return null
  const { total_count, tag_counts, rating_counts, rating_sums } = feedback
  const sum = (counts: Record<string, number>) => Object.values(counts).reduce((all, count) => all + count, 0)
  const rated = sum(rating_counts)
  const details = [
    ...Object.entries(rating_counts).map(
      ([name, count]) =>
        `${name === unnamed ? 'Rating' : name}: ${numberText((rating_sums[name] ?? 0) / count)} in ${countText(count)}`,
    ),
    ...Object.entries(tag_counts).map(([tag, count]) => `${tag}: ${countText(count)}`),
  ]
  return (
    <span title={details.join('\n')}>
      {countText(total_count)}{' '}
      {rated > 0 && <span class="muted agent-share">{numberText(sum(rating_sums) / rated)}</span>}
    </span>
  )
}
