import { type RefusalCode, type RefusalValues, refuse } from '../../domain/refusals.ts'
import { difference, isEmpty } from './automaton.ts'
import { type Budget, createBudget, TooCostly } from './budget.ts'
import { automatonOf } from './determinise.ts'
import { charClass, type Grammar, repetition } from './gbnf.ts'
import { GrammarEmpty, GrammarTooLarge, LeftRecursion } from './grammar-flaws.ts'
import { SchemaProblem } from './problems.ts'
import { compileRegex } from './regex.ts'
import { RegexTrouble } from './regex-trouble.ts'
import { addSchema, type SchemaSettings, spaces } from './schema-grammar.ts'
import { writeGbnf } from './write-gbnf.ts'

/** What an answer has to be. */
export type Constraint =
  | { kind: 'json'; schema: unknown }
  | { kind: 'json_object' }

export interface ConstraintOptions {
  /** Space between the parts of JSON: none, a little, or what the pattern says. */
  whitespace: 'none' | 'bounded' | { pattern: string }
  /** Objects whose schema lists properties and says nothing of others have no others. */
  additionalProperties?: false
}

export interface Compiled {
  /** In llama.cpp's GBNF, its root the whole answer. */
  readonly gbnf: string
}

export interface ConstraintCompiler {
  /** Throws a refusal that names the field when the constraint cannot be kept. */
  compile(constraint: Constraint, options: ConstraintOptions, field: string): Compiled
}

/** About a tenth of a second in the worst case. */
const steps = 400_000
const mostKept = 256
const mostCharacters = 16 * 1024 * 1024

type Outcome = Compiled | { code: RefusalCode; values: RefusalValues }

/** What was compiled, or refused, is kept by its source, as long as it is used and there is room. */
export function createConstraintCompiler(): ConstraintCompiler {
  const kept = new Map<string, Outcome>()
  let characters = 0
  return {
    compile(constraint, options, field) {
      const source = JSON.stringify([constraint, options])
      let outcome = kept.get(source)
      if (outcome === undefined) {
        outcome = outcomeOf(constraint, options)
        characters += sizeOf(source, outcome)
      } else {
        kept.delete(source)
      }
      kept.set(source, outcome)
      for (const [oldest, old] of kept) {
        if (oldest === source || (kept.size <= mostKept && characters <= mostCharacters)) break
        kept.delete(oldest)
        characters -= sizeOf(oldest, old)
      }
      if ('code' in outcome) throw refuse(outcome.code, { ...outcome.values, field })
      return outcome
    },
  }
}

function sizeOf(source: string, outcome: Outcome): number {
  return source.length + ('gbnf' in outcome ? outcome.gbnf.length : 0)
}

function outcomeOf(constraint: Constraint, options: ConstraintOptions): Outcome {
  try {
    return { gbnf: writeGbnf(grammarOf(constraint, options)) }
  } catch (error) {
    return flawOf(error)
  }
}

function grammarOf(constraint: Constraint, options: ConstraintOptions): Grammar {
  const budget = createBudget(steps)
  const grammar: Grammar = { rules: new Map() }
  const settings = settingsOf(options, budget)
  const schema = constraint.kind === 'json' ? constraint.schema : { type: 'object' }
  grammar.rules.set('root', addSchema(schema, grammar, '', settings, budget))
  return grammar
}

const jsonSpace = repetition(charClass([0x09, 0x0a], [0x0d, 0x0d], [0x20, 0x20]), 0)

function settingsOf({ whitespace, additionalProperties }: ConstraintOptions, budget: Budget): SchemaSettings {
  const closed = additionalProperties === false
  if (typeof whitespace === 'string') return { ...spaces(whitespace), closed }
  const { pattern } = whitespace
  const refused = (why: string) => new WhitespaceFlaw(pattern, why)
  try {
    const space = compileRegex(pattern, { search: false })
    const automaton = automatonOf(space, budget)
    if (isEmpty(automaton) || !isEmpty(difference(automaton, automatonOf(jsonSpace, budget), budget))) {
      throw refused('it matches other characters than space, tab and the ends of lines')
    }
    return { space, gap: space, closed }
  } catch (error) {
    if (error instanceof RegexTrouble) throw refused(error.message)
    throw error
  }
}

class WhitespaceFlaw extends Error {
  override readonly name = 'WhitespaceFlaw'
  readonly pattern: string

  constructor(pattern: string, why: string) {
    super(why)
    this.pattern = pattern
  }
}

/** What is thrown that is no flaw of the constraint is a fault of ours. */
function flawOf(error: unknown): Outcome {
  if (error instanceof SchemaProblem) {
    const { keyword, path, why, invalid } = error
    return { code: invalid ? 'schema_invalid' : 'schema_unsupported', values: { keyword, path, why } }
  }
  if (error instanceof TooCostly || error instanceof GrammarTooLarge) {
    return { code: 'constraint_too_large', values: { why: error.message } }
  }
  if (error instanceof GrammarEmpty || error instanceof LeftRecursion) {
    return { code: 'constraint_impossible', values: { why: error.message } }
  }
  if (error instanceof WhitespaceFlaw) {
    return { code: 'whitespace_unsupported', values: { given: error.pattern, why: error.message } }
  }
  throw error
}
