import type { GenerationEvent, TokenLogprob } from '../../inference/backend.ts'
import { usageOf } from '../chat/usage.ts'
import type { Completion, PromptRun } from './completion.ts'
import type { CompletionChunk } from './contract.ts'
import { judgedAnswer, judgedPrompt, legacyLogprobs, type TextLength } from './legacy-logprobs.ts'
import { merged } from './merged.ts'

type ChunkChoice = CompletionChunk['choices'][number]

/** What one choice has to say at once. */
interface Piece {
  text: string
  tokens: number[]
  logprobs: TokenLogprob[]
  finished?: Extract<GenerationEvent, { kind: 'finished' }>
}

/** The answers piece by piece, mixed as they come, each chunk with exactly one choice; the echo of a prompt comes first. */
export async function* chunksOf(completion: Completion): AsyncGenerator<CompletionChunk> {
  const { head, prompts, choices, wants, giveUp } = completion
  const counts = new Array<number>(prompts.length * choices).fill(0)
  const lengths = counts.map((): TextLength => ({ characters: 0 }))
  const style = { count: wants.logprobs ?? 0, asIds: wants.tokensAsIds }
  let cachedTokens = 0

  const chunk = (prompt: PromptRun, choice: Omit<ChunkChoice, 'logprobs'> & Partial<ChunkChoice>) => ({
    ...head,
    choices: [{ logprobs: null, ...choice }],
    ...(wants.runningUsage && {
      usage: usageOf(prompt.promptTokens.length, counts[choice.index] ?? 0, cachedTokens),
    }),
  })

  function* openings(
    prompt: PromptRun,
    first: number,
    event: Extract<GenerationEvent, { kind: 'prefilled' }>,
  ): Generator<CompletionChunk> {
    const { echo, promptTokens, firstToken } = prompt
    if (echo === '' && !wants.tokenIds) return
    for (let index = first; index < first + choices; index++) {
      const judged =
        wants.echoLogprobs && event.promptLogprobs
          ? judgedPrompt(promptTokens, event.promptLogprobs, firstToken)
          : undefined
      yield chunk(prompt, {
        index,
        text: echo,
        ...(judged && { logprobs: legacyLogprobs(judged, style, lengths[index] as TextLength) }),
        finish_reason: null,
        ...(wants.tokenIds && { prompt_token_ids: promptTokens, token_ids: [] }),
      })
    }
  }

  const groups = merged(
    prompts.map(({ events }) => events),
    giveUp,
  )
  for await (const { from, value: group } of groups) {
    const prompt = prompts[from] as PromptRun
    const first = from * choices
    const pieces = new Map<number, Piece>()
    for (const event of group) {
      if (event.kind === 'prefilled') {
        cachedTokens += event.cachedTokens
        yield* openings(prompt, first, event)
        continue
      }
      const piece = pieces.get(event.choice) ?? { text: '', tokens: [], logprobs: [] }
      pieces.set(event.choice, piece)
      if (event.kind === 'finished') piece.finished = event
      else if (!wants.onlyPrompt) {
        piece.text += event.text
        for (const token of event.tokens) piece.tokens.push(token)
        for (const one of event.logprobs ?? []) piece.logprobs.push(one)
      }
    }
    for (const [choice, { text, tokens, logprobs, finished }] of pieces) {
      const index = first + choice
      counts[index] = (counts[index] ?? 0) + tokens.length
      const carries = (wants.logprobs !== undefined || wants.tokenIds) && tokens.length > 0
      // What is held back for now comes with later words.
      if (text === '' && !carries && !finished) continue
      const reason = finished && (wants.onlyPrompt ? 'length' : finished.reason)
      yield chunk(prompt, {
        index,
        text,
        ...(wants.logprobs !== undefined && {
          logprobs: legacyLogprobs(judgedAnswer(logprobs), style, lengths[index] as TextLength),
        }),
        finish_reason: reason ?? null,
        ...(finished && { stop_reason: wants.onlyPrompt ? null : finished.stop }),
        ...(wants.tokenIds && { token_ids: tokens }),
      })
    }
  }
  if (wants.usage) {
    const sum = (all: number[]) => all.reduce((total, count) => total + count, 0)
    const usage = usageOf(sum(prompts.map((one) => one.promptTokens.length)), sum(counts), cachedTokens)
    yield { ...head, choices: [], usage }
  }
}
