import { randomUUID } from 'node:crypto'
import type { Part } from '../../../packages/chat-format/index.ts'
import type { Candidate, FinishReason, PromptLogprobs, TokenLogprob } from '../../../packages/engine/index.ts'
import type { AnswerEvent, ReportedUsage } from '../model.ts'
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

interface ReplyCall {
  index?: unknown
  id?: unknown
  function?: { name?: unknown; arguments?: unknown } | null
}

export interface AnswerReader {
  /** The events of one chunk, or of a whole answer. */
  read(data: string): AnswerEvent[]
  /** Whether any part of the answer has come. */
  hasBegun(): boolean
  /** Whether each choice has ended. */
  isComplete(): boolean
  usage(): ReportedUsage
  prompts: number[][]
  /** The rendered template, from a server that is asked to return it. */
  promptTexts: string[]
}

interface OpenChoice {
  /** Calls that have begun, by the numbers that the server gives them. */
  calls: { told: string; id: string | undefined; arguments: string }[]
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
  const open = Array.from({ length: inputs * choices }, (): OpenChoice => ({ calls: [], isFinished: false }))
  const begun = new Set<number>()
  let told: ReportedUsage | undefined
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
    const deltas = partsOf(turn, state, choice.delta == null)
    const tokens = isTokens(choice.token_ids) ? choice.token_ids : []
    const logprobs = logprobsOf(choice.logprobs, tokens)
    const finish = finishOf(choice.finish_reason, choice.delta == null)
    if (finish === 'failed') {
      if (choice.error != null) throw failureOf(choice.error, kind)
      throw failureOf(`finish_reason ${choice.finish_reason}`, kind)
    }
    if (finish !== undefined) deltas.push(...endsOf(state, choice.finish_reason, finish))
    // If a server reports no tokens, a piece counts as one until it reports the total.
    const count = tokens.length > 0 || deltas.length === 0 ? tokens.length : Math.max(1, logprobs.length)
    counted += count
    if (deltas.some((delta) => delta.kind === 'reasoning')) thought += count
    if (deltas.length > 0 || tokens.length > 0 || logprobs.length > 0) {
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
      told = usageOf(chunk.usage, counted) ?? told
      return events
    },
    hasBegun: () => begun.size > 0,
    isComplete: () => open.every(({ isFinished }) => isFinished),
    usage() {
      if (told !== undefined) return told
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

function usageOf(value: unknown, counted: number): ReportedUsage | undefined {
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
    completion: countOf(usage.completion_tokens) ?? counted,
    cached: detail('prompt_tokens_details', 'cached_tokens'),
    reasoning: detail('completion_tokens_details', 'reasoning_tokens'),
    // Some report zeros for answers without a prediction.
    ...(accepted + rejected > 0 && { prediction: { accepted, rejected } }),
  }
}

function partsOf(turn: ReplyTurn, state: OpenChoice, isWhole: boolean): Part[] {
  const deltas: Part[] = []
  const thought = turn.reasoning ?? turn.reasoning_content
  if (typeof thought === 'string' && thought !== '') deltas.push({ kind: 'reasoning', text: thought })
  deltas.push(...partsOfContent(turn.content))
  if (typeof turn.refusal === 'string' && turn.refusal !== '')
    deltas.push({ kind: 'content', text: turn.refusal })
  const older = turn.function_call == null ? [] : [{ index: 0, function: turn.function_call }]
  const calls = Array.isArray(turn.tool_calls) ? turn.tool_calls : older
  for (const call of calls)
    if (typeof call === 'object' && call !== null) addCall(deltas, state, call as ReplyCall, isWhole)
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

/**
 * A call is identified by its number or, if it has none, by its id. Some servers number all calls 0: one with another id
 * and a name is another, once the arguments before it are complete. Others make an id for each piece of one. In a whole
 * message each is one of its own.
 */
function addCall(deltas: Part[], { calls }: OpenChoice, call: ReplyCall, isWhole: boolean): void {
  const written = call.function?.arguments
  const more = typeof written === 'string' ? written : written == null ? '' : JSON.stringify(written)
  const id = typeof call.id === 'string' && call.id !== '' ? call.id : undefined
  const name = call.function?.name
  const told = call.index == null ? (id ?? calls.at(-1)?.told ?? '0') : String(call.index)
  let index = calls.findLastIndex((known) => known.told === told)
  const known = calls[index]
  const isOther = id !== undefined && typeof name === 'string' && name !== '' && known?.id !== id
  if (known === undefined || isWhole || (isOther && isJson(known.arguments))) {
    if (typeof name !== 'string' || name === '') throw garbage('a tool call without a name')
    if (calls.length > 0) deltas.push({ kind: 'callEnd', index: calls.length - 1 })
    index = calls.push({ told, id, arguments: '' }) - 1
    deltas.push({ kind: 'call', index, id: id ?? `call_${randomUUID().replaceAll('-', '')}`, name })
  }
  const state = calls[index] as OpenChoice['calls'][number]
  if (more === '') return
  // Clients were told that it is complete.
  if (index < calls.length - 1) throw garbage('more arguments of a tool call after the beginning of the next')
  state.arguments += more
  deltas.push({ kind: 'arguments', index, text: more })
}

function finishOf(value: unknown, isWhole: boolean): FinishReason | 'failed' | undefined {
  // Some send an empty one with every chunk.
  if (value == null || (value === '' && !isWhole)) return undefined
  if (value === 'error' || value === 'abort') return 'failed'
  if (value === 'length' || value === 'repetition' || value === 'content_filter') return value
  return 'stop'
}

/** The last call is complete if the answer ended with it, and not in the middle of it. Some servers say only `stop`. */
function endsOf({ calls }: OpenChoice, told: unknown, finish: FinishReason): Part[] {
  const last = calls.at(-1)
  if (last === undefined || finish !== 'stop') return []
  const isWhole = told === 'tool_calls' || told === 'function_call' || isJson(last.arguments)
  return isWhole ? [{ kind: 'callEnd', index: calls.length - 1 }] : []
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
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
