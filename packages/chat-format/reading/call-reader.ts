import type { CallFormat, Literal } from '../call-format.ts'
import type { OfferedTool } from '../offered-tool.ts'
import type { ArgumentReader } from './arguments.ts'
import { absent, anyOf, exactly, type Matcher, short, tolerantly } from './literals.ts'
import type { PartCollector } from './part-collector.ts'
import type { PieceReader, Searcher, SearchResult, Source } from './source.ts'

/** The beginning of a call: its name is certain. */
export interface Opening {
  tool: OfferedTool
  /** The position of its arguments. */
  end: number
  /** The text ends before the arguments. */
  isCut: boolean
  by: CallReader
}

/** Reads the calls of one format. */
export interface CallReader {
  /** The first call, at the start or after other text. */
  first: Searcher<Opening>
  /** A call right after the arguments of another; absent if a turn has only one call. */
  next?: Searcher<Opening>['seek']
  close: Matcher
  /** False when the text ends before the arguments do. */
  readArguments(source: Source, collector: PartCollector, tool: OfferedTool): PieceReader<boolean>
}

type CallLiterals = Pick<CallFormat, 'open' | 'mid' | 'gap' | 'close' | 'isAnchored'> & {
  /** The text that must follow a name for a truncated call to count as one; any character if absent. */
  certain?: string
}

interface CallReaderOptions {
  isParallel: boolean
  isJson: boolean
  /** The reader for arguments that are followed by what `behind` matches. */
  argumentsOf(behind: Matcher): ArgumentReader
}

/**
 * A call is recognized only when everything up to its arguments is present: the mark, the name of an offered tool, and
 * what follows the name. Anything else is text, so prose about marks is not changed.
 */
export function callReader(
  format: CallLiterals,
  tools: readonly OfferedTool[],
  { isParallel, isJson, argumentsOf }: CallReaderOptions,
): CallReader {
  // White space may follow a JSON value.
  const behindValue = (literal: Literal) => (isJson ? [' ', ...literal] : literal)
  const beforeName = { isAfterName: false, isBeforeName: true, isJson }
  const mid = tolerantly(format.mid, { isAfterName: true, isBeforeName: false, isJson })
  const certain = tolerantly([format.certain ?? ''], { isAfterName: true, isBeforeName: true, isJson })
  const close = tolerantly(behindValue(format.close), { isAfterName: false, isBeforeName: false, isJson })
  const gap = format.gap === undefined ? undefined : tolerantly(behindValue(format.gap), beforeName)
  const behind = gap === undefined ? close : anyOf([close, gap])
  const { begins, read } = argumentsOf(behind)
  const names = namesOf(tools)

  function seekBehind(open: Matcher): Searcher<Opening>['seek'] {
    return (text, at, isOver) => {
      const from = open(text, at)
      if (from < 0) return from === short ? 'more' : 'no'
      return named(text, from, isOver)
    }
  }

  function named(text: string, from: number, isOver: boolean): SearchResult<Opening> {
    for (const { tool, name } of names) {
      if (!text.startsWith(name, from)) {
        if (!isOver && name.startsWith(text.slice(from))) return 'more'
        continue
      }
      const behind = from + name.length
      const start = mid(text, behind)
      const begun = start < 0 ? start : begins(text, start)
      if (begun === absent) continue
      if (begun !== short) return { tool, end: start, isCut: false, by }
      if (!isOver) return 'more'
      const sure = certain(text, behind)
      if (sure >= 0 && text.length > sure) return { tool, end: text.length, isCut: true, by }
    }
    return 'no'
  }

  // White space before the template's mark belongs to the mark.
  const [head = ''] = format.open
  const space = typeof head === 'string' && !format.isAnchored ? (/^\s+/.exec(head)?.[0] ?? '') : ''
  const open = format.open.map((step, at) => (at === 0 && typeof step === 'string' ? step.trimStart() : step))
  const seek = seekBehind(tolerantly(open, beforeName))
  const leading = exactly(space)
  const by: CallReader = {
    first: {
      firsts: new Set([space.charCodeAt(0), ...firstUnits(open, names)]),
      seek(text, at, isOver) {
        const from = leading(text, at)
        return from === short ? 'more' : seek(text, from === absent ? at : from, isOver)
      },
    },
    ...(gap === undefined || !isParallel ? {} : { next: seekBehind(gap) }),
    close,
    readArguments: read,
  }
  return by
}

interface SpelledTool {
  tool: OfferedTool
  name: string
}

/** Names unchanged and as in a JSON string. Of names that begin alike, the longest one that matches is meant. */
function namesOf(tools: readonly OfferedTool[]): SpelledTool[] {
  return tools
    .flatMap((tool) => [tool.name, JSON.stringify(tool.name).slice(1, -1)].map((name) => ({ tool, name })))
    .sort((a, b) => b.name.length - a.name.length)
}

function firstUnits([first]: Literal, names: readonly SpelledTool[]): number[] {
  if (typeof first === 'string') return [first.charCodeAt(0)]
  return first === undefined ? names.map(({ name }) => name.charCodeAt(0)) : []
}
