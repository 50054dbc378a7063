import type { Conversation } from './conversation.ts'
import { messageLine, textOfMessage, wordsOf } from './lines.ts'

/** A conversation as texts, for whoever judges it or makes examples of it. */
export interface Transcript {
  /** The last words of the user. */
  question: string | undefined
  /** The first choice, or all messages of the answer; calls where there are no words. */
  answer: string | undefined
  /** Every message, after its role. */
  whole: string
}

export function transcriptOf({ asked, answered }: Conversation): Transcript {
  const users = asked.filter(({ role }) => role === 'user' || role === 'prompt')
  const [first] = answered
  const chosen = first?.choice === undefined ? answered : [first]
  const messages = [...asked, ...chosen]
  return {
    question: users.map((message) => wordsOf(message, '\n\n')).findLast((text) => text !== ''),
    answer:
      chosen
        .map((message) => messageLine(message, '\n\n'))
        .filter(Boolean)
        .join('\n\n') || undefined,
    whole: messages.map((message) => `${message.role}: ${textOfMessage(message)}`).join('\n\n'),
  }
}
