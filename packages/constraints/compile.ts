import { difference, isEmpty } from './automaton/automaton.ts'
import { automatonOf } from './automaton/determinise.ts'
import { type Budget, BudgetExceededError, createBudget } from './grammar/budget.ts'
import { choiceGrammar } from './grammar/choice.ts'
import type { CompiledGrammar } from './grammar/compiled-grammar.ts'
import { ConstraintError, type Fault, RegexError, SchemaError, WhitespaceError } from './grammar/errors.ts'
import { charClass, type Grammar, repetition } from './grammar/expressions.ts'
import { givenGrammar } from './grammar/gbnf-reader.ts'
import { packGrammar } from './grammar/pack.ts'
import { compileRegex } from './regex/regex.ts'
import { regexGrammar } from './regex/regex-grammar.ts'
import { addSchema, type SchemaSettings, spaces } from './schema/schema-grammar.ts'

/** What a text has to be. */
export type ConstraintSource =
  | { kind: 'json'; schema: unknown }
  | { kind: 'json_object' }
  | { kind: 'regex'; regex: string }
  | { kind: 'choice'; choices: readonly string[] }
  /** In GBNF or Lark. */
  | { kind: 'grammar'; grammar: string }

export interface ConstraintOptions {
  /** White space between the parts of JSON: none, a little, or what the pattern matches. */
  whitespace: 'none' | 'bounded' | { pattern: string }
  /**
   * Members that a schema does not list: true treats them as JSON Schema does; false closes every object that lists
   * members and has no `additionalProperties`. If undefined, a schema that says nothing about other members is closed.
   */
  additionalProperties?: boolean
  /** Members may come in any order; without it, in the order of the schema. */
  anyOrder?: boolean
  /** Without it, names that are not keywords are annotations. */
  unknownKeywords?: 'refuse'
}

/** About a tenth of a second in the worst case. */
const steps = 200_000

export function createConstraintBudget(): Budget {
  return createBudget(steps)
}

/**
 * The grammar of a constraint, and the names in its schemas that are nearly a keyword: the path, the name and the keyword.
 * The same on every machine: a budget of steps decides what is too large. Throws an error that says what cannot be kept;
 * `faultOf` tells its kind.
 */
export function compile(
  source: ConstraintSource,
  options: ConstraintOptions = { whitespace: 'bounded' },
): { grammar: CompiledGrammar; notes: readonly string[] } {
  checkDepth(source)
  const notes = new Set<string>()
  const { rules } = grammarOf(source, options, notes)
  return { grammar: packGrammar(rules), notes: [...notes] }
}

/** Why a constraint was not compiled; undefined for an error that is not about the constraint. */
export function faultOf(error: unknown): Fault | undefined {
  if (error instanceof ConstraintError || error instanceof SchemaError) return error.fault
  if (error instanceof BudgetExceededError) return 'too_large'
  return error instanceof WhitespaceError ? 'unsupported' : undefined
}

/** Deeper than any schema that a person writes; a schema is walked recursively. */
const maxDepth = 512

export function checkDepth(value: unknown): void {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) throw new ConstraintError('too_large', 'it is nested too deeply')
    level = level.flatMap((member) =>
      typeof member === 'object' && member !== null ? Object.values(member) : [],
    )
  }
}

export function grammarOf(source: ConstraintSource, options: ConstraintOptions, notes: Set<string>): Grammar {
  const budget = createConstraintBudget()
  switch (source.kind) {
    case 'regex':
      return regexGrammar(source.regex)
    case 'choice':
      return choiceGrammar(source.choices)
    case 'grammar':
      return givenGrammar(source.grammar, budget)
  }
  const grammar: Grammar = { rules: new Map() }
  const schema = source.kind === 'json' ? source.schema : { type: 'object' }
  grammar.rules.set('root', addSchema(schema, grammar, '', schemaSettings(options, budget, notes), budget))
  return grammar
}

const jsonSpace = repetition(charClass([0x09, 0x0a], [0x0d, 0x0d], [0x20, 0x20]), 0)

export function schemaSettings(
  { whitespace, additionalProperties, unknownKeywords, anyOrder = false }: ConstraintOptions,
  budget: Budget,
  notes: Set<string>,
): SchemaSettings {
  const members = {
    closing: additionalProperties === undefined ? 'silent' : additionalProperties ? 'told' : 'listing',
    anyOrder,
    remembers: true,
    unknownNames: { refused: unknownKeywords === 'refuse', note: (note: string) => notes.add(note) },
  } as const
  if (typeof whitespace === 'string') return { ...spaces(whitespace), ...members }
  const { pattern } = whitespace
  try {
    const space = compileRegex(pattern, { search: false, budget })
    const automaton = automatonOf(space, budget)
    if (isEmpty(automaton) || !isEmpty(difference(automaton, automatonOf(jsonSpace, budget), budget))) {
      throw new WhitespaceError(pattern, 'it matches characters other than space, tab and line breaks')
    }
    return { space, gap: space, ...members }
  } catch (error) {
    if (error instanceof RegexError) throw new WhitespaceError(pattern, error.message)
    throw error
  }
}
