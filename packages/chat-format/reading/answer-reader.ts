import { type AlternativeSpelling, formatsOf, withoutFirstMark } from '../alternative-spellings.ts'
import type { AnswerFormat, CodedCalls } from '../answer-format.ts'
import type { CallFormat } from '../call-format.ts'
import { codedForms } from '../coded/coded-forms.ts'
import type { OfferedTool } from '../offered-tool.ts'
import type { Parser } from '../parts.ts'
import type { ReasoningFormat, ThoughtStart } from '../reasoning/reasoning-format.ts'
import { argumentReader } from './arguments.ts'
import { type CallReader, callReader, type Opening } from './call-reader.ts'
import { absent, short } from './literals.ts'
import { readMessages } from './messages.ts'
import { createPartCollector, type PartCollector } from './part-collector.ts'
import {
  afterSpace,
  createSource,
  type PieceReader,
  readUntil,
  type Searcher,
  type Source,
  untilCertain,
} from './source.ts'
import { closingMark, emptyThought, type Mark, readThought } from './thought.ts'

/** Reads a call from its arguments on, the calls that follow it, and what closes them. */
function* readCalls(source: Source, collector: PartCollector, opening: Opening): PieceReader<void> {
  for (let call: Opening | undefined = opening; call !== undefined; ) {
    source.at = call.end
    collector.call(call.tool.name)
    if (call.isCut || !(yield* call.by.readArguments(source, collector, call.tool))) {
      // What was held back is the beginning of a mark or of an escape.
      source.at = source.text.length
      return
    }
    collector.callEnd()
    call = yield* readBehind(source, call.by)
  }
}

/** The next call, if there is one. Otherwise reads what closes the calls, as far as it is there. */
function* readBehind(source: Source, { next, close }: CallReader): PieceReader<Opening | undefined> {
  for (;;) {
    const { text, at, isOver } = source
    const found = next?.(text, at, isOver) ?? 'no'
    if (typeof found === 'object') return found
    const end = close(text, at)
    const isOpen = (found === 'more' || end === short) && !isOver
    if (!isOpen) {
      source.at = end >= 0 ? end : end === absent ? at : text.length
      return undefined
    }
    yield
  }
}

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
    second?: readonly AlternativeSpelling[]
  }
  /** Texts after the content that are not part of it. */
  closings?: readonly string[]
  /** Set for a format with its own marks even if no calls are read. */
  own?: CodedCalls
  /** The names of markers by index, which are written where markers have no meaning; if absent, nothing is written. */
  shown?: readonly string[]
}

/**
 * Tells thought, content and calls apart. It never throws and loses nothing: what cannot be read as a call is content.
 * A call that was cut off has the arguments so far and no end.
 */
export function createAnswerReader(options: ReaderOptions): Parser {
  const source = createSource()
  const collector = createPartCollector({ newId: options.calls?.newId ?? String, shown: options.shown ?? [] })
  const reading = readAnswer(source, collector, options)
  // Runs up to where it waits for text.
  reading.next()
  return {
    push(text) {
      source.add(text)
      reading.next()
      return collector.take()
    },
    end() {
      source.end()
      reading.next()
      collector.end()
      return collector.take()
    },
    get isThinking() {
      return collector.isThinking()
    },
  }
}

function* readAnswer(source: Source, collector: PartCollector, options: ReaderOptions): PieceReader<void> {
  const { reasoning, thought, calls, own = ownOf(calls) } = options
  const form = own && codedForms[own.own].form?.(own.marks ?? {}, calls)
  if (form !== undefined) {
    yield* readMessages(source, collector, form, thought)
    return
  }
  const { anywhere, atStart } = searchersOf(calls)
  let begun: Opening | undefined
  if (reasoning !== undefined) begun = yield* readThought(source, collector, reasoning, thought, anywhere)
  if (begun === undefined && atStart.length > 0) {
    const found = yield* untilCertain(source, afterSpace(atStart))
    if (found !== 'no') begun = found
  }
  const closings = [...(options.closings ?? []).map(closingMark), ...lateMarks(options)]
  begun ??= yield* readContent(source, collector, calls?.isBesideContent ? [] : anywhere, closings)
  while (begun !== undefined) {
    yield* readCalls(source, collector, begun)
    begun = yield* readContent(source, collector, calls?.isParallel ? anywhere : [], closings)
  }
}

/** Emits the content before the next call, without the marks that are not part of it. */
function* readContent(
  source: Source,
  collector: PartCollector,
  calls: readonly Searcher<Opening>[],
  marks: readonly Searcher<Mark>[],
): PieceReader<Opening | undefined> {
  for (;;) {
    const found = yield* readUntil<Mark | Opening>(source, [...calls, ...marks], collector.content)
    if (found === undefined || 'tool' in found) return found
    source.at = found.end
  }
}

/** Marks of thoughts that no longer have a meaning. */
function lateMarks({ reasoning, isThoughtCut }: ReaderOptions): Searcher<Mark>[] {
  if (reasoning === undefined) return []
  const isOfTokens = /[\udc00-\udfff]/u.test(reasoning.open)
  return [
    ...(isOfTokens ? [emptyThought(reasoning)] : []),
    ...(isThoughtCut ? [closingMark(reasoning.close.trim())] : []),
  ]
}

interface Searchers {
  anywhere: readonly Searcher<Opening>[]
  atStart: readonly Searcher<Opening>[]
}

function ownOf(calls: ReaderOptions['calls']): CodedCalls | undefined {
  return calls !== undefined && 'own' in calls.format ? calls.format : undefined
}

function searchersOf(calls: ReaderOptions['calls']): Searchers {
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
      formatsOf(spelling).map((form) => formatReader(form, tools, false, spelling.certain).first),
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
