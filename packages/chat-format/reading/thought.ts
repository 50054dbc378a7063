import type { ReasoningFormat, ThoughtStart } from '../reasoning/reasoning-format.ts'
import type { Opening } from './call-reader.ts'
import { exactly, inSequence, type Matcher, short, space } from './literals.ts'
import type { PartCollector } from './part-collector.ts'
import { type PieceReader, readUntil, type Searcher, type Source, untilCertain } from './source.ts'

export interface Mark {
  end: number
}

/**
 * Reads the thought, if there is one. If the model begins a call without closing the thought, it ends there; returns
 * the call.
 */
export function* readThought(
  source: Source,
  collector: PartCollector,
  { open, close }: ReasoningFormat,
  start: ThoughtStart,
  calls: readonly Searcher<Opening>[],
): PieceReader<Opening | undefined> {
  // A model that was not to think may still write the end of a thought.
  if (start !== 'open') {
    const closed = yield* untilCertain(source, mark(close.trim(), true))
    if (closed !== 'no') {
      source.at = closed.end
      collector.endThought()
      return undefined
    }
  }
  if (start !== 'over') {
    if (start === 'open') collector.beginThought()
    // White space around the marks is not part of the thought; models differ in it.
    const opened = yield* untilCertain(source, mark(open.trim(), true))
    if (opened !== 'no') source.at = opened.end
    else if (start === 'optional') return undefined
    collector.beginThought()
    const end = yield* readUntil<Mark | Opening>(
      source,
      [closingMark(close.trim()), ...calls],
      collector.thought,
    )
    if (end === undefined) return undefined
    if ('tool' in end) {
      collector.endThought()
      return end
    }
    source.at = end.end
    collector.endThought()
    // Some models close it twice.
    const again = yield* untilCertain(source, mark(close.trim(), true))
    if (again !== 'no') source.at = again.end
  }
  collector.endThought()
  return undefined
}

/** Both marks with nothing between them, which models also write after their thought. */
export function emptyThought({ open, close }: ReasoningFormat): Searcher<Mark> {
  const begin = open.trim()
  return {
    firsts: new Set([begin.charCodeAt(0)]),
    seek: seekMark(inSequence([exactly(begin), space, exactly(close.trim())])),
  }
}

function mark(literal: string, isSpaced: boolean): Searcher<Mark>['seek'] {
  return seekMark(isSpaced ? inSequence([space, exactly(literal)]) : exactly(literal))
}

function seekMark(match: Matcher): Searcher<Mark>['seek'] {
  return (text, at, isOver) => {
    const end = match(text, at)
    if (end >= 0) return { end }
    return end === short && !isOver ? 'more' : 'no'
  }
}

export function closingMark(literal: string): Searcher<Mark> {
  return { firsts: new Set([literal.charCodeAt(0)]), seek: mark(literal, false) }
}
