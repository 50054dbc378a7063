import { endianness } from 'node:os'
import type { PoolingAsked } from '../../../packages/engine/index.ts'
import { writeJson } from '../../domain/json/text.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { Model } from '../model.ts'
import { refuseUnsupported } from './fields.ts'
import { askInGroups, type GroupResult } from './groups.ts'
import { kindsOfUpstreams, type UpstreamKind } from './kinds.ts'
import type { UpstreamServer } from './server.ts'
import type { UpstreamTarget } from './upstream-request.ts'
import { askWhole } from './whole-answer.ts'

/** A number of a vector takes six bytes in base64, and about twelve as text. */
const maxAnswer = 16 * 1024 * 1024

/** Vectors and scores from a server elsewhere. `counted` is called when a request begins or ends. */
export function createPooling(
  server: UpstreamServer,
  { kind, model }: UpstreamTarget,
  counted: (change: 1 | -1) => void,
): Model['pool'] {
  /** One request to the server. */
  async function ask(asked: PoolingAsked, signal: AbortSignal): Promise<GroupResult> {
    const isRanking = isRankingOf(asked)
    const body = { model, ...(isRanking ? rankingOf(asked) : embeddingsOf(asked)), ...othersOf(asked, kind) }
    const path = isRanking ? 'rerank' : 'embeddings'
    const { tenant, traceparent } = asked
    const sent = { path, body: writeJson(body), tenant, kind, traceparent }
    const question = { ...sent, beginning: '', shows: 'health' as const }
    const slot = await server.slots.callers.acquire(tenant, signal)
    counted(1)
    try {
      const told = await askWhole(server, question, maxAnswer, signal)
      const count = asked.inputs.length
      return { values: isRanking ? scoresOf(told, count) : vectorsOf(told, count), tokens: tokensOf(told) }
    } finally {
      counted(-1)
      server.slots.callers.release(slot)
    }
  }

  return async (asked, each, signal) => {
    try {
      if (!isRankingOf(asked)) {
        await askInGroups(asked, ask, each, signal)
        return {}
      }
      const { values, tokens } = await ask(asked, signal)
      for (const [input, score] of values.entries()) each({ input, values: score, tokens: 0 })
      return { tokens }
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw error
    }
  }
}

const isRankingOf = ({ inputs }: PoolingAsked) => inputs.some((input) => 'query' in input)

function embeddingsOf({ inputs, isList, dimensions }: PoolingAsked) {
  const input = inputs.map((entry) => ('tokens' in entry ? entry.tokens : 'text' in entry ? entry.text : ''))
  return {
    input: isList ? input : input[0],
    encoding_format: 'base64',
    ...(dimensions !== undefined && { dimensions }),
  }
}

function rankingOf({ inputs }: PoolingAsked) {
  const pairs = inputs.flatMap((entry) => ('query' in entry ? [entry] : []))
  return {
    query: pairs[0]?.query ?? '',
    documents: pairs.map(({ document }) => document),
    top_n: pairs.length,
    return_documents: false,
  }
}

/** Fields that some servers accept. */
function othersOf({ truncate, priority, inputs, user }: PoolingAsked, kind: UpstreamKind) {
  const { takes } = kindsOfUpstreams[kind]
  const isBare = inputs.some((input) => 'text' in input && !input.addSpecial)
  const others = {
    truncate_prompt_tokens: truncate?.tokens,
    ...(truncate?.side === 'left' && kind === 'heddle' && { truncation_side: 'left' }),
    add_special_tokens: isBare ? false : undefined,
    priority: priority || undefined,
  }
  if (truncate?.side === 'left' && kind !== 'heddle') {
    refuseUnsupported('truncation_side', '"left"', '"right"')
  }
  for (const name of ['truncate_prompt_tokens', 'add_special_tokens', 'priority'] as const) {
    if (others[name] !== undefined && !takes.has(name)) refuseUnsupported(name, 'it', 'nothing: leave it out')
  }
  return { ...others, ...(user !== undefined && takes.has('user') && { user }) }
}

const failed = (why: string): Refusal => refuse('upstream_failed', { why })

/** The values in the order of the inputs, whatever order they arrive in. */
function placed(
  list: unknown,
  count: number,
  valuesOf: (row: Record<string, unknown>) => Float32Array | undefined,
) {
  const found = new Array<Float32Array | undefined>(count)
  if (Array.isArray(list)) {
    for (const [at, row] of (list as Record<string, unknown>[]).entries()) {
      const index = row?.index ?? at
      if (typeof index === 'number' && index in found === false && index < count) found[index] = valuesOf(row)
    }
  }
  return Array.from(found, (values, index) => {
    if (values === undefined) throw failed(`it sent nothing for input ${index}`)
    return values
  })
}

function vectorsOf({ data }: Record<string, unknown>, count: number): Float32Array[] {
  const vectors = placed(data, count, ({ embedding }) => vectorOf(embedding))
  const length = vectors[0]?.length
  if (vectors.some((vector) => vector.length !== length)) throw failed('its vectors differ in length')
  return vectors
}

function vectorOf(embedding: unknown): Float32Array {
  const vector = typeof embedding === 'string' ? ofBase64(embedding) : ofNumbers(embedding)
  if (vector.length === 0 || !vector.every(Number.isFinite))
    throw failed('it sent a vector that is empty or not all finite numbers')
  return vector
}

function ofBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length % 4 !== 0) throw failed('it sent a vector that cannot be read')
  const vector = new Float32Array(bytes.length / 4)
  const own = Buffer.from(vector.buffer)
  own.set(bytes)
  if (endianness() === 'BE') own.swap32()
  return vector
}

function ofNumbers(list: unknown): Float32Array {
  const isVector = Array.isArray(list) && list.every((entry) => typeof entry === 'number')
  if (!isVector) throw failed('it sent a vector that cannot be read')
  return Float32Array.from(list)
}

function scoresOf({ results }: Record<string, unknown>, count: number): Float32Array[] {
  return placed(results, count, ({ relevance_score: score }) => {
    if (typeof score !== 'number' || !Number.isFinite(score))
      throw failed('it sent a score that is not a number')
    return Float32Array.of(score)
  })
}

function tokensOf({ usage }: Record<string, unknown>): number {
  const { prompt_tokens, total_tokens } = (usage ?? {}) as Record<string, unknown>
  const told = [prompt_tokens, total_tokens].find(
    (count) => Number.isSafeInteger(count) && Number(count) >= 0,
  )
  return (told as number | undefined) ?? 0
}
