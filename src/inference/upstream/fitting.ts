import { writeJson } from '../../domain/json/text.ts'
import { Refusal } from '../../domain/refusals.ts'
import type { AnswerRequest, Input, Model } from '../model.ts'
import { kindsOfUpstreams, type UpstreamKind } from './kinds.ts'

/**
 * Bytes of a prompt for each of its tokens where they cannot be counted: English has four or more, code and most other
 * languages three. Too low a number leaves an answer shorter than it could be; too high a one has the request refused.
 */
const bytesOfToken = 3

/** For a picture, whose bytes say nothing of its tokens. */
const tokensOfPicture = 1_500

/** At least so much is asked for if the estimate leaves nothing: the server knows better. */
const minEstimated = 256

/** Longer than counting takes; the estimate is there at once. */
const countingMs = 2_000

/** Reduces `maxTokens` to what the context leaves, if the request allows that. */
export function createFitting(
  tokenize: Model['tokenize'],
  { kind, context }: { kind: UpstreamKind; context: number },
): (request: AnswerRequest, signal: AbortSignal) => Promise<AnswerRequest> {
  async function counted(input: Input, tenant: string, signal: AbortSignal): Promise<number | undefined> {
    if (!kindsOfUpstreams[kind].tokenizes) return undefined
    const late = AbortSignal.timeout(countingMs)
    try {
      return (await tokenize(input, tenant, AbortSignal.any([signal, late]))).length
    } catch (error) {
      // A proxy may pass on nothing but /v1. What is wrong with the request itself is found when it is sent.
      if (!signal.aborted && (late.aborted || error instanceof Refusal)) return undefined
      throw error
    }
  }

  return async (request, signal) => {
    const { ending, inputs, tenant } = request
    const [input] = inputs
    const { maxTokens } = ending
    // Anthropic's servers end the answer where the context does.
    if (kind === 'anthropic') return request
    if (!ending.isClipped || maxTokens === undefined || context === 0 || input === undefined) return request
    const tokens = await counted(input, tenant, signal)
    const left =
      tokens === undefined
        ? Math.max(minEstimated, context - estimateOf(input))
        : Math.max(1, context - tokens)
    return { ...request, ending: { ...ending, maxTokens: Math.min(maxTokens, left) } }
  }
}

function estimateOf(input: Input): number {
  if ('tokens' in input) return input.tokens.length
  if ('text' in input) return Math.ceil(Buffer.byteLength(input.text) / bytesOfToken)
  const { messages, tools } = input.conversation
  let pictures = 0
  const asSent = messages.map(({ blocks: _, ...message }) => message)
  const text = JSON.stringify(asSent, (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || !('image_url' in value)) return value
    pictures++
    return undefined
  })
  const bytes = Buffer.byteLength(text) + Buffer.byteLength(writeJson(tools ?? []))
  return Math.ceil(bytes / bytesOfToken) + pictures * tokensOfPicture
}

/** Characters of the prompts. */
export function lengthOf(inputs: readonly Input[]): number {
  let length = 0
  for (const input of inputs) {
    if ('text' in input) length += input.text.length
    else if ('conversation' in input) {
      for (const { content } of input.conversation.messages) {
        if (typeof content === 'string') length += content.length
        else
          for (const entry of content ?? [])
            length += typeof entry === 'string' ? entry.length : String(entry.text ?? '').length
      }
    }
  }
  return length
}
