import type { OfferedTool } from '../offered-tool.ts'
import type { ThoughtStart } from '../reasoning/reasoning-format.ts'
import { exactly, short } from './literals.ts'
import type { PartCollector } from './part-collector.ts'
import { isSecondHalf, isSpace, type PieceReader, readUntil, type Source } from './source.ts'
import { textSearcher } from './text-searcher.ts'

/** The form of a turn that consists of messages, each with a header that says what it is. */
export interface MessageForm {
  /** The beginning of a message, and what separates its header from its text. */
  start: string
  message: string
  /** The ends of a message. */
  ends: readonly string[]
  /** Beginnings of the header of the first message, which the prompt may have begun. */
  begins: readonly string[]
  /** The header of a message to nobody in particular begins with one of these. */
  wordBegins: readonly string[]
  isThought(header: string): boolean
  /** Reads a call, from the text of its message on; `over` when the text ends before the call does. */
  readCall(source: Source, collector: PartCollector, header: string): PieceReader<'read' | 'over' | 'none'>
}

/** The tools that may be called; absent if calls are not read. */
export interface CallsOfMessages {
  tools: readonly OfferedTool[]
  isParallel: boolean
}

/** No header of a message is longer. */
const maxHeaderLength = 512

/**
 * Reads a turn of messages: thoughts, calls, and all others as content. Where no message begins, the rest is passed on
 * unchanged.
 */
export function* readMessages(
  source: Source,
  collector: PartCollector,
  form: MessageForm,
  thought: ThoughtStart,
): PieceReader<void> {
  const { start, message } = form
  const ends = [
    ...form.ends.map((text) => textSearcher(text, { length: text.length })),
    // A message that the model forgot to end is over where the next one begins.
    textSearcher(start, { length: 0 }),
  ]
  let isThought = thought === 'open'
  let header = isThought ? '' : yield* readHeader()
  while (header !== undefined) {
    if (!(yield* readBody(header))) return
    isThought = false
    header = yield* readHeader()
  }
  yield* readUntil(source, [], collector.content)

  /** Undefined if there is no header here, or one without an end. */
  function* readHeader(): PieceReader<string | undefined> {
    for (;;) {
      const { text, at, isOver } = source
      let from = at
      while (from < text.length && isSpace(text.charCodeAt(from))) from++
      const begun = form.begins.map((begin) => exactly(begin)(text, from))
      const isBegun = begun.some((end) => end >= 0)
      if (!isBegun && !begun.includes(short)) return undefined
      const end = isBegun ? positionOf(message, text, at) : -1
      if (end !== -1) {
        source.at = end + message.length
        return text.slice(at, end)
      }
      if (text.length - at > maxHeaderLength) return undefined
      if (isOver) {
        // The beginning of a header is not content.
        if (isBegun && !form.wordBegins.some((word) => text.startsWith(word, from))) source.at = text.length
        return undefined
      }
      yield
    }
  }

  function* readBody(header: string): PieceReader<boolean> {
    const read = isThought ? 'none' : yield* form.readCall(source, collector, header)
    if (read === 'over') return false
    let say = collector.content
    if (read === 'none') {
      if (isThought || form.isThought(header)) {
        collector.beginThought()
        say = collector.thought
      } else collector.beginMessage()
    }
    const found = yield* readUntil(source, ends, say)
    if (say === collector.thought && found !== undefined) collector.endThought()
    source.at += found?.length ?? 0
    return found !== undefined
  }
}

/** The position of a mark in the header that begins here; -1 if there is none. */
function positionOf(mark: string, text: string, from: number): number {
  let found = text.indexOf(mark, from)
  while (found !== -1 && isSecondHalf(text, found)) found = text.indexOf(mark, found + 1)
  return found - from > maxHeaderLength ? -1 : found
}

/** The recipient of a message, from the last word of its header that names one. */
export function recipientOf(header: string): string | undefined {
  return Array.from(header.matchAll(/\bto=([^\s<\udc00-\udfff]+)/g), ([, name]) => name).findLast(
    (name) => name !== 'assistant',
  )
}
