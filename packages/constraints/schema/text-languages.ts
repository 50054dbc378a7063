import {
  type Automaton,
  difference,
  extent,
  intersection,
  lengths,
  texts,
  union,
} from '../automaton/automaton.ts'
import { automatonOf } from '../automaton/determinise.ts'
import { type Budget, BudgetExceededError, createBudget } from '../grammar/budget.ts'
import { RegexError, SchemaError } from '../grammar/errors.ts'
import { createGroupCache } from '../group-cache.ts'
import { compileRegex, regexLanguage } from '../regex/regex.ts'
import { formats } from './formats/formats.ts'

/** The languages of patterns and formats, each compiled once. */
export interface TextLanguages {
  /** The texts that a `pattern` matches: anywhere in the text unless it is anchored. */
  pattern(source: string, path: string): Automaton
  /** Undefined for a format that says nothing about texts. */
  format(name: string): Automaton | undefined
  /** The same, but narrower if that is needed to keep to a length. */
  formatWithin(name: string, most: number): Automaton | undefined
  /** Whether every text of the format matches the pattern, as far as that is known without compiling it. */
  implies(format: string, pattern: string): boolean
  lengths(min: number, max: number): Automaton
  exactly(words: readonly string[]): Automaton
  both(left: Automaton, right: Automaton): Automaton
  either(left: Automaton, right: Automaton): Automaton
  without(left: Automaton, right: Automaton): Automaton
}

/** Tools of one catalogue often have the same patterns. */
const patternAutomata = createGroupCache<{ automaton: Automaton; steps: number }>({
  max: 1000,
  maxSize: 400_000,
  sizeOf: ({ automaton: { edges } }) => edges.reduce((sum, out) => sum + 1 + out.length, 1),
})

/** Cached so that what is derived from one of them is derived once. */
const lengthAutomata = createGroupCache<{ automaton: Automaton; steps: number }>({
  max: 200,
  maxSize: 200_000,
  sizeOf: ({ automaton }) => automaton.accepting.length + 1,
})

/** The formats are few and the same for every caller. */
const formatAutomata = new Map<string, Automaton>()
const formatSteps = 10_000_000
/** How many states a format that is counted exactly may have. */
const fewStates = 2000

export function createTextLanguages(budget: Budget): TextLanguages {
  const patterns = new Map<string, Automaton>()

  const format = (name: string): Automaton | undefined => {
    const { pattern } = (Object.hasOwn(formats, name) ? formats[name] : undefined) ?? {}
    // As the standard defines, an unknown format only describes.
    if (pattern === undefined) return undefined
    const automaton =
      formatAutomata.get(name) ??
      automatonOf(compileRegex(pattern, { search: false }), createBudget(formatSteps))
    formatAutomata.set(name, automaton)
    return automaton
  }

  return {
    pattern(source, path) {
      let automaton = patterns.get(source)
      if (automaton === undefined) {
        try {
          const known = patternAutomata.get(source)
          if (known !== undefined) budget.spend(known.steps)
          const { counting, spent } = counted(budget)
          automaton = known?.automaton ?? languageOf(source, counting)
          patternAutomata.set(source, { automaton, steps: known?.steps ?? spent() })
        } catch (error) {
          if (error instanceof RegexError) throw new SchemaError('pattern', path, error.message, error.fault)
          if (!(error instanceof BudgetExceededError)) throw error
          throw new BudgetExceededError(`the pattern at ${path} has too many states`)
        }
        patterns.set(source, automaton)
      }
      return automaton
    },
    format,
    formatWithin(name, most) {
      const automaton = format(name)
      const { within } = (Object.hasOwn(formats, name) ? formats[name] : undefined) ?? {}
      if (automaton === undefined || within === undefined || !Number.isFinite(most)) return automaton
      const few = automaton.accepting.length * most <= fewStates
      if (few || extent(automaton).longest <= most) return automaton
      return automatonOf(compileRegex(within(most), { search: false }), budget)
    },
    implies: (name, pattern) =>
      Object.hasOwn(formats, name) && formats[name]?.implied?.includes(pattern) === true,
    lengths(min, max) {
      const key = `${min} ${max}`
      const known = lengthAutomata.get(key)
      if (known !== undefined) {
        budget.spend(known.steps)
        return known.automaton
      }
      const { counting, spent } = counted(budget)
      const automaton = lengths(min, max, counting)
      lengthAutomata.set(key, { automaton, steps: spent() })
      return automaton
    },
    exactly: (words) => texts(words, budget),
    both: (left, right) => intersection(left, right, budget),
    either: (left, right) => union(left, right, budget),
    without: (left, right) => difference(left, right, budget),
  }
}

/** The same budget, with a count of what is spent from here on. */
function counted(budget: Budget): { counting: Budget; spent(): number } {
  let steps = 0
  const counting: Budget = {
    spend(spent) {
      steps += spent
      budget.spend(spent)
    },
  }
  return { counting, spent: () => steps }
}

function languageOf(source: string, budget: Budget): Automaton {
  const language = regexLanguage(source, { search: true, budget })
  return 'automaton' in language ? language.automaton : automatonOf(language.expr, budget)
}
