import type { Conversation } from '../prompt/chat-prompt.ts'
import { wholeText } from '../prompt/conversation.ts'
import type { ReasoningFormat } from './reasoning-format.ts'

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
