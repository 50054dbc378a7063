import type { CallFormat, Literal } from '../call-format.ts'
import type { OfferedTool } from '../offered-tool.ts'
import { absent, exactly, type Matcher, short, tolerantly } from './literals.ts'
import type { Seeker, Sought } from './source.ts'

/** A call begins: its name is certain. */
export interface Opening {
  format: CallFormat
  tool: OfferedTool
  /** Where its arguments begin. */
  end: number
  /** The text is over before they do. */
  isCut: boolean
}

export interface OpeningSeekers {
  /** The first call, or the first one after other text. */
  first: Seeker<Opening>
  /** A call right behind the arguments of another; absent where a turn has one call. */
  next?: Seeker<Opening>
}

/**
 * A call begins where everything up to its arguments stands: the mark, the name of an offered tool, and what follows the name.
 * Anything else is text, so prose about tags stays what it is.
 */
export function openingSeekers(format: CallFormat, tools: readonly OfferedTool[]): OpeningSeekers {
  const isJson = format.arguments.kind === 'json'
  const open = format.open.map((part, at) => (at === 0 && typeof part === 'string' ? part.trimStart() : part))
  const seek = namedBehind(format, tools)
  const first = seek(tolerantly(open, { isAfterName: false, isBeforeName: true, isJson }))
  const white = typeof format.open[0] === 'string' ? (/^\s*/.exec(format.open[0])?.[0] ?? '') : ''
  // The white space that the template has before its mark belongs to the mark.
  const spaced = white === '' || format.isAnchored ? undefined : exactly(white)
  const firsts = new Set([firstUnit(open), ...(spaced === undefined ? [] : [white.charCodeAt(0)])])
  return {
    first: {
      firsts,
      seek(text, at, isOver) {
        const from = spaced?.(text, at) ?? absent
        if (from === short) return 'more'
        return first(text, from === absent ? at : from, isOver)
      },
    },
    ...(format.gap === undefined
      ? {}
      : {
          next: {
            firsts: new Set(),
            seek: seek(
              tolerantly(behindValue(format.gap, isJson), { isAfterName: false, isBeforeName: true, isJson }),
            ),
          },
        }),
  }
}

/** Behind a JSON value there may be white space. */
export function behindValue(literal: Literal, isJson: boolean): Literal {
  return isJson ? [' ', ...literal] : literal
}

function firstUnit(literal: CallFormat['open']): number {
  return typeof literal[0] === 'string' ? literal[0].charCodeAt(0) : Number.NaN
}

function namedBehind(format: CallFormat, tools: readonly OfferedTool[]) {
  const isJson = format.arguments.kind === 'json'
  const mid = tolerantly(format.mid, { isAfterName: true, isBeforeName: false, isJson })
  const begins = argumentsBegin(format)
  // Of names that begin alike the longest one that fits is meant.
  const names = tools
    .flatMap((tool) => spellings(tool.name).map((name) => ({ tool, name })))
    .sort((a, b) => b.name.length - a.name.length)

  return (open: Matcher) =>
    (text: string, at: number, isOver: boolean): Sought<Opening> => {
      const from = open(text, at)
      if (from === absent) return 'no'
      if (from === short) return isOver ? 'no' : 'more'
      for (const { tool, name } of names) {
        const isWhole = text.startsWith(name, from)
        if (!isWhole) {
          if (!isOver && name.startsWith(text.slice(from))) return 'more'
          continue
        }
        const behind = from + name.length
        const start = mid(text, behind)
        const begun = start < 0 ? start : begins(text, start)
        if (begun === absent) continue
        if (begun !== short) return { format, tool, end: start, isCut: false }
        if (!isOver) return 'more'
        if (text.length > behind) return { format, tool, end: text.length, isCut: true }
      }
      return 'no'
    }
}

/** As it is, and as a JSON string has it. */
function spellings(name: string): string[] {
  const escaped = JSON.stringify(name).slice(1, -1)
  return escaped === name ? [name] : [name, escaped]
}

/** Arguments are an object; JSON of another kind is no call. */
function argumentsBegin({ arguments: given }: CallFormat): Matcher {
  if (given.kind !== 'json') return (_text, at) => at
  return (text, at) => {
    const rest = text.slice(at, at + 64).trimStart()
    if (rest === '') return at + 64 > text.length ? short : absent
    if ('{"'.includes(rest[0] as string)) return at
    return 'null'.startsWith(rest.slice(0, 4)) ? (rest.length < 4 ? short : at) : absent
  }
}
