import type { AnswerFormat } from '../answer-format.ts'
import type { Parser } from '../parts.ts'
import type { ReasoningFormat, ThoughtStart } from '../reasoning/reasoning-format.ts'
import type { OfferedTool } from './offered-tool.ts'
import { callReader, type Opening } from './reading/call-reader.ts'
import { readCalls } from './reading/calls.ts'
import { createSaid, type Said } from './reading/said.ts'
import {
  behindSpace,
  certainly,
  createSource,
  type Reading,
  readUntil,
  type Seeker,
  type Source,
} from './reading/source.ts'
import { readThought } from './reading/thought.ts'

/** The formats are as `resolved` gives them. */
export interface ReaderOptions {
  /** Absent where the text has no thought. */
  reasoning?: ReasoningFormat
  thought: ThoughtStart
  /** Absent where text that looks like a call is content. */
  calls?: {
    format: AnswerFormat['calls']
    tools: readonly OfferedTool[]
    newId(index: number): string
    /** Nothing but calls is asked for. */
    isOnlyCalls: boolean
    isParallel: boolean
  }
  /** By their numbers, the names of markers that are written where they mean nothing; none are without it. */
  shown?: readonly string[]
}

/**
 * Tells thought, content and calls apart. It never throws and loses nothing: what cannot be read as a call is content. A call
 * that was cut off has the arguments so far and no end.
 */
export function createAnswerReader(options: ReaderOptions): Parser {
  const source = createSource()
  const said = createSaid({ newId: options.calls?.newId ?? String, shown: options.shown ?? [] })
  const reading = readAnswer(source, said, options)
  // Up to where it waits for text.
  reading.next()
  return {
    push(text) {
      source.add(text)
      reading.next()
      return said.take()
    },
    end() {
      source.end()
      reading.next()
      said.end()
      return said.take()
    },
    get isThinking() {
      return said.isThinking()
    },
  }
}

function* readAnswer(
  source: Source,
  said: Said,
  { reasoning, thought, calls }: ReaderOptions,
): Reading<void> {
  const { anywhere, atStart } = seekersOf(calls)
  let begun: Opening | undefined
  if (reasoning !== undefined) begun = yield* readThought(source, said, reasoning, thought, anywhere)
  if (begun === undefined && atStart.length > 0) {
    const found = yield* certainly(source, behindSpace(atStart))
    if (found !== 'no') begun = found
  }
  begun ??= yield* readUntil(source, anywhere, said.content)
  while (begun !== undefined) {
    yield* readCalls(source, said, begun)
    begun = yield* readUntil(source, calls?.isParallel ? anywhere : [], said.content)
  }
}

function seekersOf(calls: ReaderOptions['calls']): {
  anywhere: readonly Seeker<Opening>[]
  atStart: readonly Seeker<Opening>[]
} {
  if (calls === undefined || 'own' in calls.format) return { anywhere: [], atStart: [] }
  const { first } = callReader(calls.format, calls.tools, calls)
  return calls.format.isAnchored ? { anywhere: [], atStart: [first] } : { anywhere: [first], atStart: [] }
}
