import type { AnswerFormat, OwnCalls } from '../answer-format.ts'
import type { Parser } from '../parts.ts'
import type { ReasoningFormat, ThoughtStart } from '../reasoning/reasoning-format.ts'
import type { CallFormat } from './call-format.ts'
import type { OfferedTool } from './offered-tool.ts'
import { argumentReader } from './reading/arguments.ts'
import { type CallReader, callReader, type Opening } from './reading/call-reader.ts'
import { readCalls } from './reading/calls.ts'
import { harmonyForm } from './reading/harmony.ts'
import { readMessages } from './reading/messages.ts'
import { museForm } from './reading/muse.ts'
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
import { closingMark, emptyThought, type Mark, readThought } from './reading/thought.ts'
import { formatsOf, type SecondSpelling, withoutFirstMark } from './second-spellings.ts'

/** Formats as returned by `resolved`. */
export interface ReaderOptions {
  /** Absent if the text has no thought. */
  reasoning?: ReasoningFormat
  thought: ThoughtStart
  /** The thought may be ended for the model, which may then write the end once more in its content. */
  isThoughtCut?: boolean
  /** Absent if text that looks like a call is content. */
  calls?: {
    format: AnswerFormat['calls']
    tools: readonly OfferedTool[]
    newId(index: number, name: string): string
    isParallel: boolean
    /** The answer is either a call or other constrained content, so a call occurs only at its beginning. */
    isBesideContent?: boolean
    /** Other forms of a call with which the answer may begin. */
    second?: readonly SecondSpelling[]
  }
  /** Texts after the content that are not part of it. */
  closings?: readonly string[]
  /** Set for a format with its own marks even if no calls are read. */
  own?: OwnCalls
  /** The names of markers by index, which are written where markers have no meaning; if absent, nothing is written. */
  shown?: readonly string[]
}

/**
 * Tells thought, content and calls apart. It never throws and loses nothing: what cannot be read as a call is content.
 * A call that was cut off has the arguments so far and no end.
 */
export function createAnswerReader(options: ReaderOptions): Parser {
  const source = createSource()
  const said = createSaid({ newId: options.calls?.newId ?? String, shown: options.shown ?? [] })
  const reading = readAnswer(source, said, options)
  // Runs up to where it waits for text.
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

function* readAnswer(source: Source, said: Said, options: ReaderOptions): Reading<void> {
  const { reasoning, thought, calls, own = ownOf(calls) } = options
  if (own?.own === 'harmony' || own?.own === 'muse') {
    const formOf = own.own === 'muse' ? museForm : harmonyForm
    yield* readMessages(source, said, formOf(own.marks ?? {}, calls), thought)
    return
  }
  const { anywhere, atStart } = seekersOf(calls)
  let begun: Opening | undefined
  if (reasoning !== undefined) begun = yield* readThought(source, said, reasoning, thought, anywhere)
  if (begun === undefined && atStart.length > 0) {
    const found = yield* certainly(source, behindSpace(atStart))
    if (found !== 'no') begun = found
  }
  const closings = [...(options.closings ?? []).map(closingMark), ...lateMarks(options)]
  begun ??= yield* readContent(source, said, calls?.isBesideContent ? [] : anywhere, closings)
  while (begun !== undefined) {
    yield* readCalls(source, said, begun)
    begun = yield* readContent(source, said, calls?.isParallel ? anywhere : [], closings)
  }
}

/** Emits the content before the next call, without the marks that are not part of it. */
function* readContent(
  source: Source,
  said: Said,
  calls: readonly Seeker<Opening>[],
  marks: readonly Seeker<Mark>[],
): Reading<Opening | undefined> {
  for (;;) {
    const found = yield* readUntil<Mark | Opening>(source, [...calls, ...marks], said.content)
    if (found === undefined || 'tool' in found) return found
    source.at = found.end
  }
}

/** Marks of thoughts that no longer have a meaning. */
function lateMarks({ reasoning, isThoughtCut }: ReaderOptions): Seeker<Mark>[] {
  if (reasoning === undefined) return []
  const isOfTokens = /[\udc00-\udfff]/u.test(reasoning.open)
  return [
    ...(isOfTokens ? [emptyThought(reasoning)] : []),
    ...(isThoughtCut ? [closingMark(reasoning.close.trim())] : []),
  ]
}

interface Seekers {
  anywhere: readonly Seeker<Opening>[]
  atStart: readonly Seeker<Opening>[]
}

function ownOf(calls: ReaderOptions['calls']): OwnCalls | undefined {
  return calls !== undefined && 'own' in calls.format ? calls.format : undefined
}

function seekersOf(calls: ReaderOptions['calls']): Seekers {
  if (calls === undefined) return { anywhere: [], atStart: [] }
  const { format, tools, isParallel, isBesideContent, second = [] } = calls
  // Own formats have their own reader.
  if ('own' in format) return { anywhere: [], atStart: [] }
  const { first } = formatReader(format, tools, isParallel)
  const unmarked = second.length === 0 ? undefined : withoutFirstMark(format)
  const anywhere = [
    first,
    ...(unmarked === undefined ? [] : [formatReader(unmarked, tools, isParallel).first]),
  ]
  const atStart = [
    ...(format.isAnchored || isBesideContent ? [first] : []),
    ...second.flatMap((spelling) =>
      formatsOf(spelling).map((one) => formatReader(one, tools, false, spelling.certain).first),
    ),
  ]
  return { anywhere: format.isAnchored ? [] : anywhere, atStart }
}

function formatReader(
  format: CallFormat,
  tools: readonly OfferedTool[],
  isParallel: boolean,
  certain?: string,
): CallReader {
  return callReader(certain === undefined ? format : { ...format, certain }, tools, {
    isParallel,
    isJson: format.arguments.kind === 'json',
    argumentsOf: (behind) => argumentReader(format, behind),
  })
}
