import type { DecodeTimes } from './decode-times.ts'
import { type Answering, isDecoding, leftToRead } from './request.ts'
import type { createTenantShares } from './turns/tenant-shares.ts'

/** Requests that arrive within this time of each other arrive together. */
const togetherMs = 250
/** An answer is not kept from its second token for longer. */
const maxWaitMs = 4_000
/** Tenants whose times differ by less than so many steps of an answer read their prompts in one batch. */
const aheadSteps = 2

interface ParticipantsOptions {
  decodeTimes: Pick<DecodeTimes, 'areTurnsFaster' | 'stepMs'>
  shares: Pick<ReturnType<typeof createTenantShares>, 'isAhead' | 'next'>
  /** How long reading so many tokens of prompts takes, if known. */
  readMs(tokens: number): number | undefined
  now?: () => number
}

/** Which of the answers that could go on do so in the next batch. */
export function createParticipants({
  decodeTimes,
  shares,
  readMs,
  now = () => performance.now(),
}: ParticipantsOptions) {
  let waitsSince: number | undefined

  return {
    /** If the answers of several tenants take longer together than one tenant after the other, they take turns. */
    inTurn(answerings: readonly Answering[], tenants: number): readonly Answering[] {
      if (tenants < 2 || !answerings.every(isDecoding)) return answerings
      const own = answerings.filter(({ tenant }) => tenant === shares.next)
      return decodeTimes.areTurnsFaster(answerings.length, own.length, tenants) ? own : answerings
    },
    /** A prompt delays the decoding of others: it waits while its tenant has used more of the model's time than another. */
    waitsForOthers: (answering: Answering, tenants: number): boolean =>
      tenants > 1 &&
      !isDecoding(answering) &&
      shares.isAhead(answering.tenant, aheadSteps * (decodeTimes.stepMs ?? Number.POSITIVE_INFINITY)),
    /**
     * A step of many answers takes little longer than a step of one. So answers that have only their first token wait for
     * the prompts that arrived with theirs, and all decode together from then on: of a model of 1.1 billion parameters,
     * sixteen answers of 16 tokens are written at 36 tokens a second instead of 26.
     */
    startingTogether(answerings: readonly Answering[]): readonly Answering[] {
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
    },
  }
}

/** Its first token was drawn and not read yet. */
const hasOnlyFirst = ({ request, sequence }: Answering): boolean =>
  sequence?.tokens.length === request.prompt.length

function areTogether(answerings: readonly Answering[]): boolean {
  const arrivals = answerings.map(({ request }) => request.since)
  return Math.max(...arrivals) - Math.min(...arrivals) < togetherMs
}
