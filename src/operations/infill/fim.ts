import { JsonText } from '../../domain/json/text.ts'
import { createAnswer } from '../completions/answer.ts'
import { chunksOf } from '../completions/chunks.ts'
import type { Completion } from '../completions/completion.ts'
import type { CompletionAnswer, CompletionBody } from '../completions/contract.ts'
import type { FimBody, FimChunk } from './fim-contract.ts'

/** The same request of completions. */
export function completionBodyOf({
  prompt,
  max_tokens,
  min_tokens,
  random_seed,
  ...shared
}: FimBody): CompletionBody {
  return {
    ...shared,
    prompt: new JsonText(JSON.stringify(prompt)),
    max_tokens: max_tokens ?? null,
    ...(min_tokens != null && { min_tokens }),
    seed: random_seed,
    // Mistral's streams always tell it.
    ...(shared.stream && { stream_options: { include_usage: true } }),
  }
}

/** The answer of a completion in the form of a chat completion. */
export async function chatAnswerOf(completion: Completion): Promise<object> {
  const answer = createAnswer(completion, false)
  for await (const group of completion.deltas) {
    const adding = answer.add(group)
    if (adding) await adding
  }
  const { choices, ...whole } = answer.end() as CompletionAnswer
  return {
    ...whole,
    object: 'chat.completion',
    choices: choices.map(({ index, text, finish_reason }) => ({
      index,
      message: { role: 'assistant', content: text },
      finish_reason,
    })),
  }
}

/** The usage comes with the end of the answer, because Mistral's clients read a choice in every chunk. */
export async function* chatChunksOf(completion: Completion): AsyncGenerator<FimChunk> {
  let isFirst = true
  let last: FimChunk | undefined
  for await (const { choices, usage, ...head } of chunksOf(completion)) {
    if (choices.length === 0) {
      if (last !== undefined) yield { ...last, ...(usage && { usage }) }
      last = undefined
      continue
    }
    if (last !== undefined) yield last
    last = {
      ...head,
      object: 'chat.completion.chunk',
      choices: choices.map(({ index, text, finish_reason }) => ({
        index,
        delta: { ...(isFirst && { role: 'assistant' as const }), content: text },
        finish_reason,
      })),
    }
    isFirst = false
    if (choices[0]?.finish_reason != null) continue
    yield last
    last = undefined
  }
  if (last !== undefined) yield last
}
