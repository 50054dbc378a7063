import type { Part } from '../../../packages/chat-format/index.ts'
import type { TokenLogprob } from '../../../packages/engine/index.ts'
import { JsonText } from '../../domain/json/text.ts'
import { wrong } from '../../domain/refusals.ts'
import type { ChoiceDelta } from '../generation/deltas.ts'
import { logprobShown } from '../generation/logprobs.ts'

/** The event at the end of an answer has all of them at once: some 5 MB of text. */
const maxCandidates = 65_536

export function checkCandidates(candidates: number): void {
  if (candidates <= maxCandidates) return
  throw wrong(
    'top_logprobs',
    `up to ${candidates} candidates in one answer`,
    `up to ${maxCandidates}, counted as tokens times candidates per token; or chat completions`,
  )
}

const isOfCall = ({ kind }: Part) => kind === 'call' || kind === 'arguments' || kind === 'callEnd'

/** The log-probabilities of the text of messages: those of all tokens outside thoughts and calls. */
export function createLogprobs(asIds: boolean) {
  let pending: TokenLogprob[] = []
  let written: string[] = []
  let candidates = 0
  return {
    add({ turnParts, logprobs, thought, hidden }: ChoiceDelta): void {
      // Tokens that were held back until they turned out to be a call belong to the call.
      if (turnParts.some(isOfCall) && turnParts.every(({ kind }) => kind !== 'content')) {
        pending = []
        return
      }
      pending.push(...logprobs.slice(thought - hidden))
    },
    /** The log-probabilities since the last delta of text. */
    take(): JsonText[] {
      const texts = pending.map((logprob) => JSON.stringify(logprobShown(logprob, asIds)))
      for (const { top } of pending) candidates += 1 + top.length
      checkCandidates(candidates)
      pending = []
      written.push(...texts)
      return texts.map((text) => new JsonText(text))
    },
    /** Those of a message that ends. Tokens after its text do not belong to it. */
    all(): JsonText {
      const all = new JsonText(`[${written.join()}]`)
      pending = []
      written = []
      return all
    },
  }
}
