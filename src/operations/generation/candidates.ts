import { refuse } from '../../domain/refusals.ts'

/** Some 70 MB of text, and a few times as much memory while it is written. */
const mostCandidates = 1_000_000

/** The token itself, and as many rivals as were asked for. */
export const candidatesOfToken = (rivals: number | null | undefined) => (rivals == null ? 0 : 1 + rivals)

/**
 * Log-probabilities are gathered until the last answer has ended, and one request could ask for gigabytes of them. A stream
 * gives them away as they come.
 */
export function checkCandidates(field: string, candidates: number): void {
  if (candidates <= mostCandidates) return
  throw refuse('invalid_value', {
    field,
    given: `up to ${candidates} candidates in one answer`,
    accepted: `up to ${mostCandidates}, counted as tokens of all answers times candidates of each token; or a stream`,
  })
}
