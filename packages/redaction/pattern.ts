import type { Automaton } from '../constraints/index.ts'
import type { Finder } from './spans.ts'

/** A pattern that cannot be used, and why. */
export class PatternError extends Error {
  override readonly name = 'PatternError'
}

/** Enough for what a person writes; a table of this many states takes 256 kB. */
const maxStates = 1_000
const steps = 20_000
/** How far a match may go on without having been complete. So the time for a text is in proportion to its length. */
const maxAhead = 256
const ascii = 128

/**
 * The finder of a regular expression. It is compiled to an automaton, which reads each character once: no text makes it
 * backtrack. The compiler is loaded with the first pattern.
 */
export async function patternFinder(source: string): Promise<Finder> {
  const { automatonOf, compileRegex, createBudget, RegexError, BudgetExceededError } = await import(
    '../constraints/index.ts'
  )
  const { inner, opens, closes } = withoutBoundaries(source)
  try {
    const budget = createBudget(steps)
    const automaton = automatonOf(compileRegex(inner, { search: false, budget }), budget)
    if (automaton.accepting.length === 0) throw new PatternError('it matches nothing')
    if (automaton.accepting[0] === true) throw new PatternError('it matches the empty text')
    if (automaton.accepting.length > maxStates) {
      throw new PatternError(
        `it needs ${automaton.accepting.length} states, at most ${maxStates} are accepted`,
      )
    }
    return finderOf(automaton, opens, closes)
  } catch (error) {
    if (error instanceof RegexError || error instanceof BudgetExceededError) {
      throw new PatternError(error.message)
    }
    throw error
  }
}

/** `\b` is understood at the two ends of a pattern, where it is nearly always written. */
function withoutBoundaries(source: string): { inner: string; opens: boolean; closes: boolean } {
  const opens = source.startsWith('\\b')
  const closes = /(?:^|[^\\])(?:\\\\)*\\b$/.test(source)
  const inner = source.slice(opens ? 2 : 0, closes ? -2 : undefined)
  const plain = inner.replace(/\\.|\[(?:\\.|[^\]\\])*\]/gsu, '')
  if (/[$^]/.test(plain)) throw new PatternError('it has an anchor (^ or $); it is searched everywhere')
  if ((opens || closes) && hasChoice(plain)) {
    throw new PatternError('alternatives between word boundaries have to be in a group, as in \\b(?:a|b)\\b')
  }
  return { inner, opens, closes }
}

function hasChoice(plain: string): boolean {
  let depth = 0
  for (const character of plain) {
    if (character === '(') depth++
    else if (character === ')') depth--
    else if (character === '|' && depth === 0) return true
  }
  return false
}

const isWord = (code: number) =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)

/** What ends an escape of JSON within JSON, or a colour of a terminal, is no part of a word. */
const isEscape = (text: string, at: number) =>
  /[bfmnrt]/.test(text.charAt(at - 1)) &&
  /\\[bfnrt]$|\[[\d;]{1,12}m$/.test(text.slice(Math.max(0, at - 14), at))

const isBoundary = (text: string, at: number) =>
  isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at)) || isEscape(text, at)

function finderOf({ edges, accepting }: Automaton, opens: boolean, closes: boolean): Finder {
  const table = new Int16Array(edges.length * ascii).fill(-1)
  for (const [state, out] of edges.entries()) {
    for (const { from, to, target } of out) {
      if (from < ascii) table.fill(target, state * ascii + from, state * ascii + Math.min(to, ascii - 1) + 1)
    }
  }
  const next = (state: number, point: number): number => {
    if (point < ascii) return table[state * ascii + point] ?? -1
    return edges[state]?.find(({ from, to }) => from <= point && point <= to)?.target ?? -1
  }
  /** The end of the longest match that begins here; -1 without one. */
  function endFrom(text: string, from: number): number {
    let state = 0
    let end = -1
    for (let at = from; at < text.length && at - Math.max(end, from) <= maxAhead; ) {
      const point = text.codePointAt(at) ?? 0
      state = next(state, point)
      if (state === -1) break
      at += point > 0xffff ? 2 : 1
      if (accepting[state] === true && (!closes || isBoundary(text, at))) end = at
    }
    return end
  }
  return (text, found) => {
    for (let at = 0; at < text.length; ) {
      const end = opens && !isBoundary(text, at) ? -1 : endFrom(text, at)
      if (end !== -1) found(at, end)
      at = end === -1 ? at + 1 : end
    }
  }
}
