import { type Answering, isDecoding, leftToRead } from './request.ts'

/** Requests that arrive within this time of each other arrive together. */
const togetherMs = 250
/** An answer is not kept from its second token for longer. */
const maxWaitMs = 4_000

interface Waiting {
  /** How long reading so many tokens of prompts takes, if known. */
  readMs(tokens: number): number | undefined
  now?: () => number
}

/**
 * A step of sixteen answers takes little longer than a step of one. So answers that have only their first token wait
 * for the prompts that arrived with theirs, and all decode together from then on: sixteen short answers of a model with
 * 1.1 billion parameters were written at 26 tokens a second without this.
 */
export function createStartingTogether({ readMs, now = () => performance.now() }: Waiting) {
  let waitsSince: number | undefined

  /** The answers whose tokens the next batch reads: of those that start together, only the ones that still read prompts. */
  return (answerings: readonly Answering[]): readonly Answering[] => {
    const reading = answerings.filter((answering) => !isDecoding(answering))
    const tokens = reading.reduce((sum, answering) => sum + leftToRead(answering), 0)
    const waitedMs = waitsSince === undefined ? 0 : now() - waitsSince
    const waits =
      tokens > 0 &&
      reading.length < answerings.length &&
      areTogether(answerings) &&
      answerings.every((answering) => !isDecoding(answering) || hasOnlyFirst(answering)) &&
      waitedMs + (readMs(tokens) ?? maxWaitMs) < maxWaitMs
    waitsSince = waits ? (waitsSince ?? now()) : undefined
    return waits ? reading : answerings
  }
}

/** Its first token was drawn and not read yet. */
const hasOnlyFirst = ({ request, sequence }: Answering): boolean =>
  sequence?.tokens.length === request.prompt.length

function areTogether(answerings: readonly Answering[]): boolean {
  const arrivals = answerings.map(({ request }) => request.since)
  return Math.max(...arrivals) - Math.min(...arrivals) < togetherMs
}
