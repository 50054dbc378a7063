import { refuse } from '../../domain/refusals.ts'
import type { ChatSettings } from '../chat/refused.ts'
import { checkSampling } from '../chat/together.ts'
import { type CompletionBody, usualMaxTokens } from './contract.ts'

/** How many tokens each answer may have; undefined is as many as fit. */
export function maxTokensOf({ max_tokens }: CompletionBody): number | undefined {
  return max_tokens === undefined ? usualMaxTokens : (max_tokens ?? undefined)
}

/** What each field allows on its own, but not with the others. */
export function checkTogether(body: CompletionBody): void {
  const { stream, stream_options, prompt_logprobs, echo } = body
  const wrong = (field: string, given: string, accepted: string) =>
    refuse('invalid_value', { field, given, accepted })
  if (!stream && stream_options && Object.values(stream_options).some((value) => value !== undefined)) {
    throw wrong('stream_options', 'given without `stream`', 'with "stream": true only')
  }
  if (stream && prompt_logprobs) {
    throw wrong('prompt_logprobs', `${prompt_logprobs} with "stream": true`, '0 in a stream, or no stream')
  }
  const maxTokens = maxTokensOf(body)
  if (maxTokens === 0 && !echo) {
    throw wrong('max_tokens', '0, which leaves no answer', 'at least 1, or 0 with "echo": true')
  }
  checkSampling(body, maxTokens)
}

/** Fields that are refused by name rather than ignored. */
export function refuseWhatIsNotThere(body: CompletionBody, settings: ChatSettings): void {
  const { suffix, best_of, n, priority = 0 } = body
  const off = (field: string, given: string, accepted: string) =>
    refuse('not_available', { field, given, accepted })
  if (suffix) throw off('suffix', 'a text', 'null')
  if (best_of != null && best_of !== (n ?? 1)) throw off('best_of', String(best_of), `${n ?? 1}, as \`n\` is`)
  if (priority !== 0 && !settings.priority)
    throw refuse('priority_off', { field: 'priority', given: priority })
}
