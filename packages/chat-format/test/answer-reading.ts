import type { AnswerFormat, OfferedTool, Part } from '../index.ts'
import { createAnswerReader, type ReaderOptions } from '../index.ts'

/** The content of an answer, however it was split. */
export interface Told {
  reasoning: string
  content: string
  calls: { name: string; arguments: string; isComplete: boolean }[]
}

export const weather: OfferedTool = {
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city'],
  },
  strict: false,
}

export const now: OfferedTool = {
  name: 'get_weather_now',
  parameters: { type: 'object', properties: {} },
  strict: false,
}

export type Reading = Omit<ReaderOptions, 'calls' | 'thought'> & {
  format?: AnswerFormat['calls']
  tools?: readonly OfferedTool[]
  thought?: ReaderOptions['thought']
  isParallel?: boolean
  isBesideContent?: boolean
  second?: NonNullable<ReaderOptions['calls']>['second']
}

/** Reads an answer that arrives in these pieces. */
export function partsOf(pieces: readonly string[], reading: Reading): Part[] {
  const {
    format,
    tools = [weather, now],
    isParallel = true,
    second = [],
    isBesideContent = false,
    ...rest
  } = reading
  const reader = createAnswerReader({
    thought: 'over',
    ...rest,
    ...(format === undefined
      ? {}
      : { calls: { format, tools, newId: (index) => `id-${index}`, isParallel, second, isBesideContent } }),
  })
  return [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()]
}

/** The parts joined; throws if their order makes no sense to a client. */
export function told(parts: readonly Part[]): Told {
  const all: Told = { reasoning: '', content: '', calls: [] }
  for (const part of parts) {
    switch (part.kind) {
      case 'content':
      case 'reasoning':
        all[part.kind] += part.text
        break
      case 'call':
        if (part.index !== all.calls.length) throw new Error(`call ${part.index} is out of order`)
        if (part.id !== `id-${part.index}`) throw new Error(`call ${part.index} has the id ${part.id}`)
        all.calls.push({ name: part.name, arguments: '', isComplete: false })
        break
      default: {
        const call = all.calls[part.index]
        if (call === undefined || call.isComplete)
          throw new Error(`there is no call ${part.index} to continue`)
        if (part.kind === 'callEnd') call.isComplete = true
        else call.arguments += part.text
      }
    }
  }
  return all
}

export function read(text: string, reading: Reading): Told {
  return told(partsOf([text], reading))
}

/** The text in pieces of one code unit, of two and so on, and cut once at each position. */
export function everyCut(text: string): string[][] {
  const pieces = (size: number) => text.match(new RegExp(`.{1,${size}}`, 'gs')) ?? []
  const halves = Array.from({ length: text.length }, (_, at) => [text.slice(0, at), text.slice(at)])
  return [pieces(1), pieces(2), pieces(3), pieces(7), pieces(20), ...halves]
}
