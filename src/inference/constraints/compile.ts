import { passOnRefusal, type RefusalCode, type RefusalValues, refuse } from '../../domain/refusals.ts'
import { createTenantCache } from '../../threads/tenant-cache.ts'
import type { AnswerFormat } from '../answer-format.ts'
import { alternativeSpellings } from '../tools/alternative-spellings.ts'
import { type CallFormat, hermes } from '../tools/call-format.ts'
import { muse } from '../tools/muse.ts'
import type { OfferedTool } from '../tools/offered-tool.ts'
import { difference, isEmpty } from './automaton/automaton.ts'
import { automatonOf } from './automaton/determinise.ts'
import type { Compiled, Constraint, ConstraintOptions, TurnConstraint } from './constraint.ts'
import { type Budget, BudgetExceededError, createBudget } from './grammar/budget.ts'
import { choiceGrammar } from './grammar/choice.ts'
import { sizeOfGrammar } from './grammar/compiled-grammar.ts'
import { ConstraintError, type Fault, RegexError, SchemaError } from './grammar/errors.ts'
import { charClass, type Expr, type Grammar, repetition } from './grammar/expressions.ts'
import { givenGrammar } from './grammar/gbnf-reader.ts'
import { packGrammar } from './grammar/pack.ts'
import { compileRegex } from './regex/regex.ts'
import { regexGrammar } from './regex/regex-grammar.ts'
import { addSchema, type SchemaSettings, spaces } from './schema/schema-grammar.ts'
import { type CompileSchema, structuralTagGrammar } from './tags/structural-tag.ts'
import { alternativePaths } from './turns/alternative-calls.ts'
import { addSubgrammar } from './turns/subgrammar.ts'
import { createToolArguments, type ToolArguments } from './turns/tool-arguments.ts'
import { addTurn } from './turns/turn-grammar.ts'

export interface ConstraintCompiler {
  /** Throws a refusal that names the field if the constraint cannot be kept. */
  compile(constraint: Constraint, options: ConstraintOptions, field: string): Compiled
}

/** About a tenth of a second in the worst case. */
const steps = 200_000
/** For all tools of a request together. */
const stepsOfTools = 2_000_000
const maxKept = 256
const maxBytes = 32 * 1024 * 1024

type Outcome = Compiled | { code: RefusalCode; values: RefusalValues }

/** An LRU cache of constraints that were compiled or refused, by their source, for each tenant. */
export function createConstraintCompiler(): ConstraintCompiler {
  const toolArguments = createToolArguments()
  const cache = createTenantCache<Outcome>({
    max: maxKept,
    maxSize: maxBytes,
    sizeOf: (outcome, source) => 2 * source.length + ('code' in outcome ? 0 : sizeOfGrammar(outcome.grammar)),
  })
  return {
    compile(constraint, options, field) {
      if (isDeep(constraint)) throw refuse('constraint_too_large', { field, why: 'it is nested too deeply' })
      const source = JSON.stringify([constraint, options])
      const known = cache.get(source)
      const outcome = known ?? outcomeOf(constraint, options, toolArguments)
      if (known === undefined) cache.set(source, outcome)
      if ('code' in outcome) throw passOnRefusal({ code: outcome.code, values: { field, ...outcome.values } })
      return outcome
    },
  }
}

/** Deeper than any schema that a person writes; the code below walks a schema recursively. */
const deepest = 512

function isDeep(given: unknown): boolean {
  let level: unknown[] = [given]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest) return true
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    )
  }
  return false
}

function outcomeOf(
  constraint: Constraint,
  options: ConstraintOptions,
  toolArguments: ToolArguments,
): Outcome {
  try {
    if (constraint.kind === 'turn') return compiledTurn(constraint, options, toolArguments)
    const notes = new Set<string>()
    const { rules } = grammarOf(constraint, options, notes)
    return { grammar: packGrammar(rules), widened: [], notes: [...notes] }
  } catch (error) {
    return refusalOf(error)
  }
}

function compiledTurn(
  turn: TurnConstraint,
  options: ConstraintOptions,
  toolArguments: ToolArguments,
): Compiled {
  const grammar: Grammar = { rules: new Map() }
  const { calls } = turn
  const notes = new Set<string>()
  const settings = {
    ...settingsOf(options, createBudget(steps), notes),
    anyOrder: false,
    remembers: false,
  }
  const offered = calls === undefined ? [] : calledTools(calls)
  const widened = new Set<string>()
  const allowance = { steps: stepsOfTools }
  const argumentsOf = (tool: OfferedTool, format: Pick<CallFormat, 'arguments' | 'close'>): Expr => {
    const one = inTool(tool, () => toolArguments.of(tool, format, settings, allowance))
    for (const [name, expr] of one.rules) grammar.rules.set(name, expr)
    for (const what of one.widened) widened.add(`${tool.name}${what}`)
    for (const note of one.notes) notes.add(`${tool.name}${note}`)
    return one.start
  }
  const tools =
    calls === undefined
      ? []
      : calledTools(calls).map((tool) => ({
          name: tool.name,
          arguments: argumentsOf(tool, dataOf(calls.format)),
        }))
  const spellings = alternativeSpellings(turn)
  const second =
    spellings.length === 0
      ? []
      : alternativePaths(
          spellings,
          offered.map((tool) => ({ name: tool.name, json: argumentsOf(tool, asJson) })),
        )
  const content = turn.content && addSubgrammar(grammarOf(turn.content, options, notes), 'content-', grammar)
  addTurn(turn, { content, tools, second }, grammar)
  return { grammar: packGrammar(grammar.rules), widened: [...widened], notes: [...notes] }
}

/**
 * The format as data. The two formats that data cannot describe are represented by one that writes arguments alike:
 * gpt-oss writes JSON, as Hermes does.
 */
function dataOf(format: AnswerFormat['calls']): CallFormat {
  if (!('own' in format)) return format
  return format.own === 'muse' ? muse : hermes
}

const asJson = { arguments: { kind: 'json', isQuoted: false }, close: [] } as const

function calledTools({ tools, choice }: NonNullable<TurnConstraint['calls']>): readonly OfferedTool[] {
  return typeof choice === 'string' ? tools : tools.filter(({ name }) => name === choice.name)
}

/** Adds to errors in the schema of a tool where the request has it. */
function inTool<T>(tool: OfferedTool, compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    const outcome = refusalOf(error)
    if (!('code' in outcome)) throw error
    const { name, field } = tool
    throw new ToolError(name, { code: outcome.code, values: { ...outcome.values, ...(field && { field }) } })
  }
}

class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly outcome: Outcome

  constructor(tool: string, outcome: Outcome) {
    super(`the schema of ${tool} cannot be enforced`)
    this.outcome = outcome
  }
}

function grammarOf(
  constraint: Exclude<Constraint, TurnConstraint>,
  options: ConstraintOptions,
  notes: Set<string>,
): Grammar {
  switch (constraint.kind) {
    case 'regex':
      return regexGrammar(constraint.regex)
    case 'choice':
      return choiceGrammar(constraint.choices)
    case 'grammar':
      return givenGrammar(constraint.grammar, createBudget(steps))
  }
  const budget = createBudget(steps)
  const settings = settingsOf(options, budget, notes)
  if (constraint.kind === 'structural_tag') {
    const compileSchema: CompileSchema = (schema, grammar, prefix, place) =>
      placed(place, () => addSchema(schema, grammar, `${prefix}-`, settings, budget))
    return structuralTagGrammar(constraint.tag, compileSchema, budget)
  }
  const grammar: Grammar = { rules: new Map() }
  const schema = constraint.kind === 'json' ? constraint.schema : { type: 'object' }
  grammar.rules.set('root', addSchema(schema, grammar, '', settings, budget))
  return grammar
}

/** Reports errors of an embedded schema by its path in the whole constraint. */
function placed(place: string, compile: () => Expr): Expr {
  try {
    return compile()
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    const { keyword, path, why, fault } = error
    throw new SchemaError(keyword, `#${place}${path.replace(/^#/, '')}`, why, fault)
  }
}

const jsonSpace = repetition(charClass([0x09, 0x0a], [0x0d, 0x0d], [0x20, 0x20]), 0)

function settingsOf(
  { whitespace, additionalProperties, unknownKeywords, anyOrder = false }: ConstraintOptions,
  budget: Budget,
  notes: Set<string>,
): SchemaSettings {
  const said = {
    closing: additionalProperties === undefined ? 'silent' : additionalProperties ? 'told' : 'listing',
    anyOrder,
    remembers: true,
    unknownNames: { refused: unknownKeywords === 'refuse', note: (note: string) => notes.add(note) },
  } as const
  if (typeof whitespace === 'string') return { ...spaces(whitespace), ...said }
  const { pattern } = whitespace
  const refused = (why: string) => new WhitespaceError(pattern, why)
  try {
    const space = compileRegex(pattern, { search: false, budget })
    const automaton = automatonOf(space, budget)
    if (isEmpty(automaton) || !isEmpty(difference(automaton, automatonOf(jsonSpace, budget), budget))) {
      throw refused('it matches characters other than space, tab and line breaks')
    }
    return { space, gap: space, ...said }
  } catch (error) {
    if (error instanceof RegexError) throw refused(error.message)
    throw error
  }
}

class WhitespaceError extends Error {
  override readonly name = 'WhitespaceError'
  readonly pattern: string

  constructor(pattern: string, why: string) {
    super(why)
    this.pattern = pattern
  }
}

const codes: Readonly<Record<Fault, RefusalCode>> = {
  invalid: 'constraint_invalid',
  unsupported: 'constraint_unsupported',
  impossible: 'constraint_impossible',
  too_large: 'constraint_too_large',
}

/** Anything thrown that is not about the constraint is an error of the server, and is rethrown. */
function refusalOf(error: unknown): Outcome {
  if (error instanceof ToolError) return error.outcome
  if (error instanceof SchemaError) {
    const { keyword, path, why, fault } = error
    return {
      code: fault === 'invalid' ? 'schema_invalid' : 'schema_unsupported',
      values: { keyword, path, why },
    }
  }
  if (error instanceof ConstraintError) return { code: codes[error.fault], values: { why: error.message } }
  if (error instanceof BudgetExceededError) return { code: codes.too_large, values: { why: error.message } }
  if (error instanceof WhitespaceError) {
    return { code: 'whitespace_unsupported', values: { given: error.pattern, why: error.message } }
  }
  throw error
}
