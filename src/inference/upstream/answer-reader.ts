import type { Part } from '../../../packages/chat-format/index.ts'
import type { Candidate, FinishReason, PromptLogprobs, TokenLogprob } from '../../../packages/engine/index.ts'
import type { AnswerEvent, ReportedUsage } from '../model.ts'
import { type CallReader, createCallReader, type ReplyCall } from './call-reader.ts'
import { failureOf } from './failures.ts'
import type { UpstreamKind } from './kinds.ts'
import { countOf, estimatedTokens, garbage, membersOf, parsedReply } from './reply.ts'

/** The part of an answer, or of a chunk, that is read. Nothing of it is trusted. */
interface ReplyChunk {
  error?: unknown
  /** `error` with the error's own fields beside it, as older vLLM sends it. */
  object?: unknown
  choices?: unknown
  usage?: unknown
  prompt_token_ids?: unknown
  prompt_logprobs?: unknown
  prompt_text?: unknown
}

interface ReplyChoice {
  index?: unknown
  error?: unknown
  delta?: ReplyTurn | null
  message?: ReplyTurn | null
  text?: unknown
  finish_reason?: unknown
  stop_reason?: unknown
  token_ids?: unknown
  prompt_token_ids?: unknown
  prompt_logprobs?: unknown
  logprobs?: unknown
}

interface ReplyTurn {
  content?: unknown
  refusal?: unknown
  reasoning?: unknown
  reasoning_content?: unknown
  tool_calls?: unknown
  function_call?: unknown
}

export interface AnswerReader {
  /** The events of one chunk, or of a whole answer. */
  read(data: string): AnswerEvent[]
  /** Whether any part of the answer has come: until then, it may begin again at another address. */
  hasBegun(): boolean
  /** What waited for more of an answer that breaks off. */
  cut(): AnswerEvent[]
  /** Whether each choice has ended. */
  isComplete(): boolean
  usage(): ReportedUsage
  prompts: number[][]
  /** The rendered template, from a server that is asked to return it. */
  promptTexts: string[]
}

interface OpenChoice {
  calls: CallReader
  isFinished: boolean
}

export interface AnswerReaderOptions {
  kind: UpstreamKind
  inputs: number
  choices: number
  /** Characters of the prompts, from which their tokens are estimated if the server does not report them. */
  promptLength: number
}

export function createReader({ kind, inputs, choices, promptLength }: AnswerReaderOptions): AnswerReader {
  const prompts: number[][] = Array.from({ length: inputs }, () => [])
  const promptTexts: string[] = []
  const open = Array.from(
    { length: inputs * choices },
    (): OpenChoice => ({ calls: createCallReader(), isFinished: false }),
  )
  const begun = new Set<number>()
  let told: ToldUsage | undefined
  /** What was counted when the usage came: pieces after it are not in it. */
  let countedThen = 0
  let hasBegun = false
  let counted = 0
  let thought = 0

  function begin(input: number, ids: unknown, logprobs: unknown): AnswerEvent[] {
    if (begun.has(input)) return []
    begun.add(input)
    if (isTokens(ids)) prompts[input] = ids
    const promptLogprobs = Array.isArray(logprobs) ? promptLogprobsOf(logprobs) : undefined
    return [{ kind: 'prefilled', input, cachedTokens: 0, ...(promptLogprobs && { promptLogprobs }) }]
  }

  function choiceEvents(value: unknown, chunk: ReplyChunk): AnswerEvent[] {
    if (typeof value !== 'object' || value === null) throw garbage('a choice that is not an object')
    const choice = value as ReplyChoice
    const index = typeof choice.index === 'number' ? choice.index : 0
    const state = open[index]
    if (state === undefined)
      throw garbage(`a choice ${String(choice.index).slice(0, 20)} that was not asked for`)
    if (state.isFinished) return []
    const events = begin(
      Math.floor(index / choices),
      choice.prompt_token_ids ?? chunk.prompt_token_ids,
      choice.prompt_logprobs ?? chunk.prompt_logprobs,
    )
    const turn = choice.delta ?? choice.message ?? { content: choice.text }
    const deltas = partsOf(turn, state.calls, choice.delta == null)
    const tokens = isTokens(choice.token_ids) ? choice.token_ids : []
    const logprobs = logprobsOf(choice.logprobs, tokens)
    const finish = finishOf(choice.finish_reason, choice.delta == null)
    if (finish === 'failed') {
      if (choice.error != null) throw failureOf(choice.error, kind)
      throw failureOf(`finish_reason ${choice.finish_reason}`, kind)
    }
    if (finish !== undefined) deltas.push(...state.calls.finish(choice.finish_reason, finish))
    // If a server reports no tokens, a piece counts as one until it reports the total.
    const isPiece = deltas.length > 0 || (Array.isArray(turn.tool_calls) && turn.tool_calls.length > 0)
    const count = tokens.length > 0 || !isPiece ? tokens.length : Math.max(1, logprobs.length)
    counted += count
    if (deltas.some((delta) => delta.kind === 'reasoning')) thought += count
    if (isPiece || tokens.length > 0 || logprobs.length > 0) {
      hasBegun = true
      events.push({
        kind: 'said',
        choice: index,
        deltas,
        tokens,
        count,
        ...(logprobs.length > 0 && { logprobs }),
      })
    }
    if (finish !== undefined) {
      state.isFinished = true
      hasBegun = true
      events.push({ kind: 'finished', choice: index, reason: finish, stop: stopOf(choice.stop_reason) })
    }
    return events
  }

  return {
    prompts,
    promptTexts,
    read(data) {
      const chunk: ReplyChunk = parsedReply(data)
      if (chunk.error != null) throw failureOf(chunk.error, kind)
      if (chunk.object === 'error') throw failureOf(chunk, kind)
      if (typeof chunk.prompt_text === 'string') promptTexts[0] = chunk.prompt_text
      const events: AnswerEvent[] = []
      if (Array.isArray(chunk.choices)) {
        for (const choice of chunk.choices)
          for (const event of choiceEvents(choice, chunk)) events.push(event)
      }
      const usage = usageOf(chunk.usage)
      if (usage !== undefined) [told, countedThen] = [usage, counted]
      return events
    },
    hasBegun: () => hasBegun,
    cut: () =>
      open.flatMap(({ calls, isFinished }, choice): AnswerEvent[] => {
        const deltas = isFinished ? [] : calls.finish(null, 'length')
        return deltas.length === 0 ? [] : [{ kind: 'said', choice, deltas, tokens: [], count: 0 }]
      }),
    isComplete: () => open.every(({ isFinished }) => isFinished),
    usage() {
      if (told !== undefined) {
        const { completion = counted } = told
        return { ...told, completion: counted > countedThen ? Math.max(completion, counted) : completion }
      }
      const known = prompts.reduce((sum, { length }) => sum + length, 0)
      const prompt = known > 0 || begun.size === 0 ? known : estimatedTokens(promptLength)
      return { prompt, cached: 0, completion: counted, reasoning: thought }
    },
  }
}

const isTokens = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((entry) => Number.isSafeInteger(entry) && entry >= 0)

const isBytes = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((entry) => Number.isInteger(entry) && entry >= 0 && entry <= 255)

/** Some report the prompt before the answer, and nothing of the answer. */
type ToldUsage = Omit<ReportedUsage, 'completion'> & { completion: number | undefined }

function usageOf(value: unknown): ToldUsage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const usage = value as Record<string, unknown>
  const prompt = countOf(usage.prompt_tokens)
  if (prompt === undefined) return undefined
  const detail = (name: string, member: string) =>
    countOf((usage[name] as Record<string, unknown> | null | undefined)?.[member]) ?? 0
  const accepted = detail('completion_tokens_details', 'accepted_prediction_tokens')
  const rejected = detail('completion_tokens_details', 'rejected_prediction_tokens')
  return {
    prompt,
    completion: countOf(usage.completion_tokens),
    cached: detail('prompt_tokens_details', 'cached_tokens'),
    reasoning: detail('completion_tokens_details', 'reasoning_tokens'),
    // Some report zeros for answers without a prediction.
    ...(accepted + rejected > 0 && { prediction: { accepted, rejected } }),
    ...(typeof usage.cost === 'number' && { cost: usage.cost }),
  }
}

function partsOf(turn: ReplyTurn, reader: CallReader, isWhole: boolean): Part[] {
  const texts: Part[] = []
  const thought = turn.reasoning ?? turn.reasoning_content
  if (typeof thought === 'string' && thought !== '') texts.push({ kind: 'reasoning', text: thought })
  texts.push(...partsOfContent(turn.content))
  if (typeof turn.refusal === 'string' && turn.refusal !== '')
    texts.push({ kind: 'content', text: turn.refusal })
  const deltas = texts.flatMap((text) => reader.addText(text))
  const older = turn.function_call == null ? [] : [{ index: 0, function: turn.function_call }]
  const calls = Array.isArray(turn.tool_calls) ? turn.tool_calls : older
  for (const call of calls)
    if (typeof call === 'object' && call !== null) deltas.push(...reader.addCall(call as ReplyCall, isWhole))
  return deltas
}

/** A text, or a list of parts, as Mistral sends it: texts, thoughts, and others, which have no words. */
function partsOfContent(content: unknown): Part[] {
  if (content == null) return []
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'content', text: content }]
  if (!Array.isArray(content)) throw garbage('content that is no text')
  return content.flatMap((piece): Part[] => {
    const { text, thinking } = membersOf(piece)
    const thought = Array.isArray(thinking)
      ? thinking.map((inner) => membersOf(inner).text ?? '').join('')
      : thinking
    return [
      ...(typeof thought === 'string' && thought !== ''
        ? [{ kind: 'reasoning' as const, text: thought }]
        : []),
      ...(typeof text === 'string' && text !== '' ? [{ kind: 'content' as const, text }] : []),
    ]
  })
}

function finishOf(value: unknown, isWhole: boolean): FinishReason | 'failed' | undefined {
  // Some send an empty one with every chunk.
  if (value == null || (value === '' && !isWhole)) return undefined
  if (value === 'error' || value === 'abort') return 'failed'
  if (value === 'length' || value === 'repetition' || value === 'content_filter') return value
  return 'stop'
}

function stopOf(value: unknown): string | number | null {
  return typeof value === 'string' || typeof value === 'number' ? value : null
}

const minLogprob = -9_999

/** In the form of chat completions, or the older one of text completions. */
function logprobsOf(value: unknown, tokens: readonly number[]): TokenLogprob[] {
  if (typeof value !== 'object' || value === null) return []
  const { content } = value as { content?: unknown }
  if (Array.isArray(content)) {
    return content.map((entry: unknown, index) => {
      const fields = membersOf(entry)
      const top = Array.isArray(fields.top_logprobs) ? fields.top_logprobs : []
      return { ...candidateOf(fields, tokens[index]), top: top.map((other) => candidateOf(membersOf(other))) }
    })
  }
  const older = value as { tokens?: unknown; token_logprobs?: unknown; top_logprobs?: unknown }
  if (!Array.isArray(older.tokens) || !Array.isArray(older.token_logprobs)) return []
  const { token_logprobs, top_logprobs } = older
  return older.tokens.map((token: unknown, index) => {
    const top = Array.isArray(top_logprobs) ? (top_logprobs[index] as object | null) : null
    return {
      ...candidateOf({ token, logprob: token_logprobs[index] }, tokens[index]),
      top: Object.entries(top ?? {}).map(([text, logprob]) => candidateOf({ token: text, logprob })),
    }
  })
}

const byId = /^token_id:(\d+)$/

/** The id is -1 if it is not known. */
function candidateOf({ token, bytes, logprob }: Record<string, unknown>, known?: number): Candidate {
  const text = typeof token === 'string' ? token : ''
  const id = byId.exec(text)?.[1]
  return {
    token: id === undefined ? (known ?? -1) : Number(id),
    bytes: isBytes(bytes) ? Uint8Array.from(bytes) : Buffer.from(text),
    logprob: typeof logprob === 'number' ? logprob : minLogprob,
  }
}

function promptLogprobsOf(list: unknown[]): PromptLogprobs {
  return list.map((entry) => {
    if (typeof entry !== 'object' || entry === null) return null
    return Object.entries(entry)
      .map(([token, told]) => {
        const { logprob, rank, decoded_token } = membersOf(told)
        return {
          token: Number(token),
          bytes: Buffer.from(typeof decoded_token === 'string' ? decoded_token : ''),
          logprob: typeof logprob === 'number' ? logprob : minLogprob,
          rank: typeof rank === 'number' ? rank : 0,
        }
      })
      .toSorted((a, b) => a.rank - b.rank)
  })
}
