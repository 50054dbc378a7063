import type { Part } from '../../../packages/chat-format/index.ts'
import type { FinishReason, TokenLogprob } from '../../../packages/engine/index.ts'
import { createYieldToLoop, inSteps } from '../../../packages/waiting/index.ts'
import { batchesOf } from '../../domain/batches.ts'
import type { Delta, PromptDelta } from './deltas.ts'
import type { Generation } from './generation.ts'
import type { CandidateLimit } from './logprobs.ts'
import { createTally, type Tally } from './usage.ts'

/** The output of one choice. */
export interface FoldedTurn {
  content: string
  reasoning: string
  calls: FoldedCall[]
}

export interface FoldedCall {
  id: string
  name: string
  /** JSON, or the beginning of it when the answer was cut off. */
  arguments: string
  isComplete: boolean
}

/** One choice of a whole answer. */
export interface FoldedChoice<Logprobs> extends FoldedTurn {
  tokens: number[]
  logprobs: Logprobs
  /** Null if it did not reach its end. */
  reason: FinishReason | null
  stop: string | number | null
}

interface Folded<Logprobs> {
  choices: FoldedChoice<Logprobs>[]
  usage: ReturnType<Tally['total']>
}

/**
 * Log-probabilities are written as they come: together they may be many megabytes, which would block the loop at the
 * end.
 */
interface LogprobsWriter {
  add(logprobs: readonly TokenLogprob[]): void
}

interface FoldOptions<Logprobs> {
  createLogprobs(): Logprobs
  candidateLimit: CandidateLimit
  /** Receives the delta of a prompt and the choices that will answer it. */
  onPrompt(delta: PromptDelta, choices: FoldedChoice<Logprobs>[]): Promise<void>
}

/** Number of log-probabilities written in one step. */
const stepSize = 32

function addPart(turn: FoldedTurn, turnPart: Part): void {
  switch (turnPart.kind) {
    case 'content':
    case 'reasoning':
      turn[turnPart.kind] += turnPart.text
      return
    case 'call':
      turn.calls[turnPart.index] = { id: turnPart.id, name: turnPart.name, arguments: '', isComplete: false }
      return
  }
  const call = turn.calls[turnPart.index]
  if (call === undefined) throw new Error(`the call ${turnPart.index} has not begun`)
  if (turnPart.kind === 'callEnd') call.isComplete = true
  else call.arguments += turnPart.text
}

/** Assembles an answer as its deltas come. If it ends early, the answer is what has come so far. */
interface Fold<Logprobs> {
  /** Returns a promise only when the work takes long. */
  add(group: readonly Delta[]): Promise<void> | undefined
  end(): Folded<Logprobs>
}

export function createFold<Logprobs extends LogprobsWriter>(
  generation: Pick<Generation, 'choices' | 'prompts' | 'told'>,
  { createLogprobs, candidateLimit, onPrompt }: FoldOptions<Logprobs>,
): Fold<Logprobs> {
  const { choices: perPrompt, prompts } = generation
  const tally = createTally(generation)
  const yieldToLoop = createYieldToLoop()
  const choices = Array.from({ length: prompts.length * perPrompt }, (): FoldedChoice<Logprobs> => {
    return {
      content: '',
      reasoning: '',
      calls: [],
      tokens: [],
      logprobs: createLogprobs(),
      reason: null,
      stop: null,
    }
  })

  function add(delta: Delta): void {
    tally.add(delta)
    if (delta.kind === 'prompt') return
    const { turnParts, tokens, finished } = delta
    const choice = choices[delta.choice] as FoldedChoice<Logprobs>
    for (const turnPart of turnParts) addPart(choice, turnPart)
    for (const token of tokens) choice.tokens.push(token)
    if (finished) Object.assign(choice, finished)
  }

  async function addLogprobs(group: readonly Delta[]): Promise<void> {
    for (const delta of group) {
      if (delta.kind === 'prompt') {
        const first = delta.input * perPrompt
        await onPrompt(delta, choices.slice(first, first + perPrompt))
      } else if (delta.logprobs.length > 0 && candidateLimit.takes(delta.logprobs)) {
        const { logprobs } = choices[delta.choice] as FoldedChoice<Logprobs>
        await inSteps(batchesOf(delta.logprobs, stepSize), (some) => logprobs.add(some), yieldToLoop)
      }
    }
  }

  return {
    add(group) {
      for (const delta of group) add(delta)
      return group.some(({ logprobs }) => logprobs && logprobs.length > 0) ? addLogprobs(group) : undefined
    },
    end: () => ({ choices, usage: tally.total() }),
  }
}
