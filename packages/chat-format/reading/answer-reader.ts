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
  const { reasoning, thought, calls, own: coded = codedCallsOf(calls) } = options
  const form = coded && codedForms[coded.own].form?.(coded.marks ?? {}, calls)
  if (form !== undefined) {
    yield* readMessages(source, collector, form, thought)
    return
  }
  const { anywhere, atStart } = searchersOf(calls)
  const closings = [...(options.closings ?? []).map(closingMark), ...lateMarks(options)]
  let call: Opening | undefined
  if (reasoning !== undefined) call = yield* readThought(source, collector, reasoning, thought, anywhere)
  if (call === undefined && atStart.length > 0) {
    const found = yield* untilCertain(source, afterSpace(atStart))
    if (found !== 'no') call = found
  }
  call ??= yield* readContent(source, collector, calls?.isBesideContent ? [] : anywhere, closings)
  while (call !== undefined) {
    yield* readCalls(source, collector, call)
    call = yield* readContent(source, collector, calls?.isParallel ? anywhere : [], closings)
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

function codedCallsOf(calls: ReaderOptions['calls']): CodedCalls | undefined {
  return calls !== undefined && 'own' in calls.format ? calls.format : undefined
}

/** What begins a call: anywhere in the content, and only at the start of the answer. */
interface Searchers {
  anywhere: readonly Searcher<Opening>[]
  atStart: readonly Searcher<Opening>[]
}

function searchersOf(calls: ReaderOptions['calls']): Searchers {
  // Coded formats have their own reader.
  if (calls === undefined || 'own' in calls.format) return { anywhere: [], atStart: [] }
  const { format, tools, isParallel, isBesideContent, second: spellings = [] } = calls
  const call = openingOf(format, tools, isParallel)
  // What may be spelled otherwise may also lack its first mark.
  const unmarked = spellings.length === 0 ? undefined : withoutFirstMark(format)
  const others = spellings.flatMap((spelling) =>
    formatsOf(spelling).map((other) => openingOf({ ...other, ...certaintyOf(spelling) }, tools, false)),
  )
  return {
    anywhere: format.isAnchored
      ? []
      : [call, ...(unmarked === undefined ? [] : [openingOf(unmarked, tools, isParallel)])],
    atStart: [...(format.isAnchored || isBesideContent ? [call] : []), ...others],
  }
}

const certaintyOf = ({ certain }: AlternativeSpelling) => (certain === undefined ? {} : { certain })

function openingOf(
  format: CallFormat,
  tools: readonly OfferedTool[],
  isParallel: boolean,
): Searcher<Opening> {
  const reader = callReader(format, tools, {
    isParallel,
    isJson: format.arguments.kind === 'json',
    argumentsOf: (behind) => argumentReader(format, behind),
  })
  return reader.first
}
