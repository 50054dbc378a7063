/** An answer as far as it has arrived. It is updated in place; the page draws copies at its own pace. */
export interface Answer {
  choices: Choice[]
  usage?: Usage
  /** The whole answer, if it was not streamed. */
  json?: string
}

interface Usage {
  prompt_tokens: number
  completion_tokens: number
  prompt_tokens_details?: { cached_tokens?: number } | null
}

export interface Choice {
  content: string
  thought: string
  calls: ToolCall[]
  tokens: Token[]
  finish?: string
  /** The stop text or token that ended it. */
  stop?: string | number | null
}

export interface ToolCall {
  id: string
  name: string
  /** JSON, unless it was cut off. */
  arguments: string
}

export interface Alternative {
  token: string
  bytes: number[]
  logprob: number
}

export interface Token extends Alternative {
  top_logprobs: Alternative[]
}

interface CallPart {
  index?: number
  id?: string
  function?: { name?: string; arguments?: string }
}

interface Said {
  content?: string | null
  reasoning?: string
  tool_calls?: CallPart[]
  function_call?: { name?: string; arguments?: string }
}

/** A chunk of a stream, or a whole answer. */
export interface AnswerPart {
  choices?: {
    index: number
    delta?: Said
    message?: Said
    logprobs?: { content: Token[] } | null
    finish_reason?: string | null
    stop_reason?: string | number | null
  }[]
  usage?: Usage | null
}

/** A copy with new choices: unchanged objects would not be drawn again. */
export const asOfNow = (answer: Answer): Answer => ({
  ...answer,
  choices: answer.choices.map((choice) => ({
    ...choice,
    calls: choice.calls.map((call) => ({ ...call })),
    tokens: [...choice.tokens],
  })),
})

const newChoice = (): Choice => ({ content: '', thought: '', calls: [], tokens: [] })

export function addPart(answer: Answer, { choices = [], usage }: AnswerPart): void {
  if (usage) answer.usage = usage
  for (const { index, delta, message, logprobs, finish_reason, stop_reason } of choices) {
    while (answer.choices.length <= index) answer.choices.push(newChoice())
    const choice = answer.choices[index] as Choice
    const said = delta ?? message ?? {}
    choice.content += said.content ?? ''
    choice.thought += said.reasoning ?? ''
    for (const [at, part] of (said.tool_calls ?? []).entries()) addCall(choice, part.index ?? at, part)
    if (said.function_call) addCall(choice, 0, { function: said.function_call })
    // Answers may have very many tokens; a spread has a limit.
    for (const token of logprobs?.content ?? []) choice.tokens.push(token)
    if (finish_reason) choice.finish = finish_reason
    if (stop_reason !== undefined && stop_reason !== null) choice.stop = stop_reason
  }
}

function addCall({ calls }: Choice, index: number, { id, function: called = {} }: CallPart): void {
  while (calls.length <= index) calls.push({ id: '', name: '', arguments: '' })
  const call = calls[index] as ToolCall
  if (id !== undefined) call.id = id
  call.name += called.name ?? ''
  call.arguments += called.arguments ?? ''
}

/** The text up to a token, followed by another token; undefined where that token is only part of a character. */
export function forkAt(tokens: readonly Token[], at: number, instead: Alternative): string | undefined {
  const bytes = [...tokens.slice(0, at).flatMap((token) => token.bytes), ...instead.bytes]
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes))
  } catch {
    return undefined
  }
}

/** How little the model expected a token, from 0 (hardly surprising) to 4, by its probability: 0.8, 0.5, 0.2, 0.05. */
export function surpriseOf({ logprob }: Pick<Alternative, 'logprob'>): 0 | 1 | 2 | 3 | 4 {
  const probability = Math.exp(logprob)
  if (probability >= 0.8) return 0
  if (probability >= 0.5) return 1
  if (probability >= 0.2) return 2
  return probability >= 0.05 ? 3 : 4
}
