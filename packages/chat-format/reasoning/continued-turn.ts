import { type Conversation, type JsonValue, wholeText } from '../conversation.ts'
import type { ReasoningFormat, ThoughtStart } from './reasoning-format.ts'

/** The fields of a request that concern thinking. */
interface ThinkingFields {
  /** Explicit, whatever the effort. */
  thinks?: boolean | undefined
  reasoningEffort?: string | null | undefined
  variables?: JsonValue | null | undefined
}

/** Whether the fields of the request switch thinking on or off; undefined if they do neither. */
export function thinkingAsked({ thinks, reasoningEffort }: ThinkingFields): boolean | undefined {
  return thinks ?? (reasoningEffort == null ? undefined : reasoningEffort !== 'none')
}

/**
 * Whether the model is to think: variables of the template take precedence over the fields of the request, and these
 * over the template's default.
 */
export function isThinkingOn(reasoning: ReasoningFormat | undefined, fields: ThinkingFields): boolean {
  if (reasoning === undefined) return false
  const entries = Object.entries((fields.variables?.value ?? {}) as object)
  for (const [name, value] of entries) {
    if (!Object.hasOwn(reasoning.switches.on, name)) continue
    if (value === reasoning.switches.on[name]) return true
    if (value === reasoning.switches.off[name]) return false
  }
  return thinkingAsked(fields) ?? reasoning.isDefault
}

/**
 * Whether a rendered prompt leaves the thought open, has ended it, or leaves it to the model. White space around the
 * marks is the template's.
 */
export function thoughtStartOf(
  reasoning: Pick<ReasoningFormat, 'open' | 'close'> | undefined,
  prompt: string,
): ThoughtStart {
  if (reasoning === undefined) return 'over'
  const text = prompt.trimEnd()
  if (text.endsWith(reasoning.open)) return 'open'
  if (text.endsWith(reasoning.close)) return 'over'
  return 'optional'
}

/** What the turn that is continued already has: an open thought, or this much of its content. */
type ContinuedTurn = { isThought: true } | { isThought: false; content: string }

/** Undefined if the answer begins its turn. What callers write contains no marks that are control tokens. */
export function continuedTurn(
  { continueFinal, messages }: Pick<Conversation, 'continueFinal' | 'messages'>,
  reasoning: Pick<ReasoningFormat, 'open' | 'close'> | undefined,
  controlTokens: readonly string[],
): ContinuedTurn | undefined {
  const last = continueFinal ? messages.at(-1) : undefined
  if (last === undefined) return undefined
  const text = wholeText(last, messages.length - 1)
  if (text === '') return undefined
  const [open, close] = [reasoning?.open.trim(), reasoning?.close.trim()]
  const isMarked = open && close && !controlTokens.some((name) => name === open || name === close)
  if (!isMarked || !text.trimStart().startsWith(open)) return { isThought: false, content: text }
  const end = text.indexOf(close)
  if (end === -1) return { isThought: true }
  const content = text.slice(end + close.length).trimStart()
  return content === '' ? undefined : { isThought: false, content }
}
