import type { Answering } from './chat-contestants.ts'

export interface Conversations {
  users: number
  turns: number
  /** Tokens of the first question, of each later one, and of an answer. */
  first: number
  adds: number
  tokens: number
}

/** Median milliseconds to the first token, for each turn. All users send it one after the other before the next turn begins. */
export async function firstTokens(
  { ask }: Answering,
  shape: Conversations,
  /** The fields that identify the conversation, for contestants that use them. */
  fields: (user: number, turn: number) => Record<string, unknown> = () => ({}),
): Promise<number[]> {
  const medians: number[] = []
  for (let turn = 0; turn < shape.turns; turn++) {
    const ms: number[] = []
    for (let user = 0; user < shape.users; user++) {
      const prompts = [promptOf(shape, user, turn)]
      const { first } = await ask({ prompts, tokens: shape.tokens, fields: fields(user, turn) })
      ms.push(...first)
    }
    medians.push(ms.toSorted((one, other) => one - other)[ms.length >> 1] ?? Number.NaN)
  }
  return medians
}

/**
 * The conversation so far, in tokens that the smallest vocabulary has. Its answers are made up, and the same for all
 * contestants, as if each had been edited.
 */
export function promptOf(
  { first, adds }: Pick<Conversations, 'first' | 'adds'>,
  user: number,
  turn: number,
): number[] {
  return Array.from(
    { length: first + turn * adds },
    (_, at) => 300 + ((at * 7919 + user * 104_729 + at * user) % 1200),
  )
}
