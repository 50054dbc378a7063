import type { Scorer } from '../../server/scorers.ts'
import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../../value/json-index.ts'
import type { RunSettings } from './run-draft.ts'

/** Rows whose texts stand for those of all. */
export const sampledRows = 20

/** Near enough for most scripts: those with fewer characters to a token have more bytes to a character. */
const bytesPerToken = 4

interface Planned {
  rows: number
  /** The first rows. */
  sample: readonly JsonNode[]
  prompt: string
  settings: readonly Pick<RunSettings, 'system' | 'fields'>[]
  repeats: number
}

interface Estimate {
  /** Of questions. */
  asked: number
  /** At most, of answers; undefined where some settings have no bound. */
  maxAnswered: number | undefined
}

/** The tokens of a run before it starts, without those of its judges. */
export function estimateTokens({ rows, sample, prompt, settings, repeats }: Planned): Estimate {
  const ofRow = meanOf(sample, (row) => bytesOf(questionOf(prompt, row)))
  const ofRows = settings.map(({ system }) => rows * Math.ceil((ofRow + bytesOf(system)) / bytesPerToken))
  const bounds = settings.map(({ fields }) => Number(fields.get('max_completion_tokens') ?? Number.NaN))
  const bound = rows * repeats * sumOf(bounds)
  return { asked: repeats * sumOf(ofRows), maxAnswered: Number.isNaN(bound) ? undefined : bound }
}

/** What a judge writes at most, where it does not say. */
const usualMaxTokens = 512

/** The tokens that judges read about so many answers, without the answers themselves, and at most write. */
export function estimateJudges(
  { sample, prompt }: Pick<Planned, 'sample' | 'prompt'>,
  scorers: readonly Pick<Scorer, 'judge' | 'fields'>[],
  answers: number,
) {
  let [read, maxWritten] = [0, 0]
  for (const { judge, fields } of scorers) {
    if (judge === undefined) continue
    const own = [judge.system ?? '', ...(judge.questions ?? []).map(({ instructions = '' }) => instructions)]
    const asked = meanOf(sample, (row) =>
      bytesOf(
        own.join('') +
          judge.prompt.replace(field, (_, name = '') => known(fields[name] ?? name, prompt, row)),
      ),
    )
    read += answers * Math.ceil(asked / bytesPerToken)
    // Typed questions are answered without writing anything.
    if (!judge.questions || judge.reason) maxWritten += answers * (judge.max_tokens ?? usualMaxTokens)
  }
  return { read, maxWritten }
}

const field = /\{([^{}]+)\}/g

/** What a field of the call will be; empty for what the model has still to say. */
function known(path: string, prompt: string, row: JsonNode): string {
  if (/^(conversation(\.question)?|inputs\.messages\b.*)$/.test(path)) return questionOf(prompt, row)
  const column = membersOf(row).find(({ name }) => path === `inputs.${name}`)
  return column === undefined ? '' : textOf(column.node)
}

/** Milliseconds of the answers, where each of the settings has a mean latency. Runs take turns. */
export function estimateTime(
  answersOfEach: number,
  latencies: readonly (number | undefined)[],
  concurrency: number,
): number | undefined {
  const ms = (sumOf(latencies.map((latency) => latency ?? Number.NaN)) * answersOfEach) / concurrency
  return Number.isNaN(ms) ? undefined : ms
}

const encoder = new TextEncoder()
const bytesOf = (text: string) => encoder.encode(text).length
const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0)
const meanOf = (sample: readonly JsonNode[], sizeOf: (row: JsonNode) => number) =>
  sumOf(sample.map(sizeOf)) / Math.max(1, sample.length)
const textOf = (node: JsonNode) => stringOf(node) ?? sourceOf(node)

/** `{column}` is what the row has there. */
function filled(prompt: string, row: JsonNode): string {
  const values = new Map(membersOf(row).map(({ name, node }) => [name, node]))
  return prompt.replace(field, (whole, name: string) => {
    const value = values.get(name)
    return value === undefined ? whole : textOf(value)
  })
}

const questionOf = (prompt: string, row: JsonNode): string =>
  prompt.trim() === '' ? messagesIn(row) : filled(prompt, row)

function messagesIn(row: JsonNode): string {
  const messages = nodeAt(row, 'messages')
  return messages === undefined
    ? ''
    : membersOf(messages)
        .map(({ node }) => textOf(nodeAt(node, 'content') ?? node))
        .join('')
}
