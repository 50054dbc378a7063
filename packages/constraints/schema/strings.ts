import { type Automaton, extent, isEmpty } from '../automaton/automaton.ts'
import { BudgetExceededError } from '../grammar/budget.ts'
import { type Expr, literal, never, type Range, repetition, sequence } from '../grammar/expressions.ts'
import type { Emission } from './emission.ts'
import { inJsonString } from './json-characters.ts'
import { countsOf, derived, excludedBy, type SchemaNode } from './schema-document.ts'
import type { TextLanguages } from './text-languages.ts'

interface StringDemands {
  min: number
  max: number
  /** What patterns, formats and forbidden values leave; undefined if there are none. */
  language: Automaton | undefined
}

/** A larger automaton is not written as a grammar. */
const maxStates = 4000

/** The JSON strings for which all of these schemas hold. */
export function stringExpr(bases: readonly SchemaNode[], emission: Emission): Expr {
  const demands = demandsOf(bases, emission.texts)
  const { min, max, language } = demands
  if (language === undefined) {
    if (min === 0 && max === Number.POSITIVE_INFINITY) return emission.string
    return quoted(repetition(emission.character, min, max))
  }
  const run = runOf(language)
  if (run !== undefined) {
    return quoted(repetition(inJsonString(run.ranges), Math.max(run.min, min), Math.min(run.max, max)))
  }
  const automaton = limited(demands, language, emission.texts)
  if (isEmpty(automaton)) return never
  return quoted(emission.write(automaton, inJsonString))
}

/** The texts for which all of these schemas hold; undefined for all texts. */
export function stringAutomaton(bases: readonly SchemaNode[], texts: TextLanguages): Automaton | undefined {
  const demands = demandsOf(bases, texts)
  if (demands.language !== undefined) return limited(demands, demands.language, texts)
  const { min, max } = demands
  return min === 0 && max === Number.POSITIVE_INFINITY ? undefined : texts.lengths(min, max)
}

export function someString(bases: readonly SchemaNode[], texts: TextLanguages): boolean {
  const demands = demandsOf(bases, texts)
  if (demands.max < demands.min) return false
  return demands.language === undefined || !isEmpty(limited(demands, demands.language, texts))
}

export function quoted(text: Expr): Expr {
  return sequence(literal('"'), text, literal('"'))
}

/** Length limits that every text of the language meets add nothing. */
function limited({ min, max }: StringDemands, language: Automaton, texts: TextLanguages): Automaton {
  if (isEmpty(language)) return language
  const { shortest, longest } = extent(language)
  const least = shortest >= min ? 0 : min
  const most = longest <= max ? Number.POSITIVE_INFINITY : max
  if (least === 0 && most === Number.POSITIVE_INFINITY) return small(language)
  if (language.accepting.length * (Number.isFinite(most) ? most : least) > 4 * maxStates) {
    throw new BudgetExceededError('a length and a pattern or format together have too many states')
  }
  return small(texts.both(language, texts.lengths(least, most)))
}

function small(automaton: Automaton): Automaton {
  if (automaton.accepting.length > maxStates) throw new BudgetExceededError('a pattern has too many states')
  return automaton
}

function demandsOf(bases: readonly SchemaNode[], texts: TextLanguages): StringDemands {
  const demands: StringDemands = { ...countsOf(bases, 'Length'), language: undefined }
  const narrow = (automaton: Automaton | undefined) => {
    if (automaton === undefined) return
    demands.language = demands.language === undefined ? automaton : texts.both(demands.language, automaton)
  }
  const exclude = (automaton: Automaton) =>
    narrow(texts.without(texts.lengths(0, Number.POSITIVE_INFINITY), automaton))
  for (const base of bases) {
    const { schema, path } = base
    narrow(patternAndFormat(base, demands.max, texts))
    const without = schema[derived.notPattern]
    if (typeof without === 'string') exclude(texts.pattern(without, path))
    const format = schema[derived.notFormat]
    if (typeof format === 'string') exclude(texts.format(format) ?? texts.exactly([]))
    const words = excludedBy(base).filter((value) => typeof value === 'string')
    if (words.length > 0) exclude(texts.exactly(words))
  }
  return demands
}

/**
 * What a schema demands by `pattern` and `format`. If they exclude each other, the pattern decides, because the standard
 * lets a format only describe: zod writes the format `time` next to the pattern of a time without a zone.
 */
function patternAndFormat({ schema, path }: SchemaNode, most: number, texts: TextLanguages) {
  const { pattern, format } = schema
  const described = typeof format === 'string' ? texts.formatWithin(format, most) : undefined
  if (typeof pattern !== 'string') return described
  if (described !== undefined && texts.implies(String(format), pattern)) return described
  const matched = texts.pattern(pattern, path)
  if (described === undefined) return matched
  const both = texts.both(matched, described)
  return isEmpty(both) ? matched : both
}

/** Recognises a language that only limits the number of characters of one class. It is counted instead of unrolled. */
export function runOf({
  edges,
  accepting,
}: Automaton): { ranges: readonly Range[]; min: number; max: number } | undefined {
  const last = accepting.length - 1
  const min = accepting.indexOf(true)
  if (last < 0 || accepting.slice(min).includes(false)) return undefined
  const ranges = (edges[0] ?? []).map(({ from, to }): Range => [from, to])
  if (ranges.length === 0) return undefined
  const key = JSON.stringify(ranges)
  for (const [state, out] of edges.entries()) {
    if (state === last && out.length === 0) break
    const target = Math.min(state + 1, last)
    if (out.some((edge) => edge.target !== target)) return undefined
    if (JSON.stringify(out.map(({ from, to }) => [from, to])) !== key) return undefined
  }
  return { ranges, min, max: edges[last]?.length === 0 ? last : Number.POSITIVE_INFINITY }
}
