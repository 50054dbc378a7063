import {
  addSchema,
  BudgetExceededError,
  type CompiledGrammar,
  ConstraintError,
  checkDepth,
  createConstraintBudget,
  type Expr,
  type Fault,
  type Grammar,
  grammarOf,
  packGrammar,
  rememberByGroup,
  SchemaError,
  schemaSettings,
  sizeOfGrammar,
  WhitespaceError,
} from '../../../packages/constraints/index.ts'
import { passOnRefusal, type RefusalCode, type RefusalValues, refuse } from '../../domain/refusals.ts'
import { answeredTenant, createTenantCache } from '../../threads/tenant-cache.ts'
import type { AnswerFormat } from '../answer-format.ts'
import { alternativeSpellings } from '../tools/alternative-spellings.ts'
import { type CallFormat, hermes } from '../tools/call-format.ts'
import { muse } from '../tools/muse.ts'
import type { OfferedTool } from '../tools/offered-tool.ts'
import type { Compiled, Constraint, ConstraintOptions, TurnConstraint } from './constraint.ts'
import { type CompileSchema, structuralTagGrammar } from './tags/structural-tag.ts'
import { alternativePaths } from './turns/alternative-calls.ts'
import { addSubgrammar } from './turns/subgrammar.ts'
import { createToolArguments, type ToolArguments } from './turns/tool-arguments.ts'
import { addTurn } from './turns/turn-grammar.ts'

interface ConstraintCompiler {
  /** Throws a refusal that names the field if the constraint cannot be kept. */
  compile(constraint: Constraint, options: ConstraintOptions, field: string): Compiled
}

/** For all tools of a request together. */
const stepsOfTools = 2_000_000
const maxKept = 256
const maxBytes = 32 * 1024 * 1024

type Outcome = Compiled | { code: RefusalCode; values: RefusalValues }

/** An LRU cache of constraints that were compiled or refused, by their source, for each tenant. */
export function createConstraintCompiler(): ConstraintCompiler {
  rememberByGroup(answeredTenant)
  const toolArguments = createToolArguments()
  const cache = createTenantCache<Outcome>({
    max: maxKept,
    maxSize: maxBytes,
    sizeOf: (outcome, source) => 2 * source.length + ('code' in outcome ? 0 : outcome.bytes),
  })
  return {
    compile(constraint, options, field) {
      checkDepthOf(constraint, field)
      const source = JSON.stringify([constraint, options])
      const known = cache.get(source)
      const outcome = known ?? outcomeOf(constraint, options, toolArguments)
      if (known === undefined) cache.set(source, outcome)
      if ('code' in outcome) throw passOnRefusal({ code: outcome.code, values: { field, ...outcome.values } })
      return outcome
    },
  }
}

function checkDepthOf(constraint: Constraint, field: string): void {
  try {
    checkDepth(constraint)
  } catch (error) {
    if (!(error instanceof ConstraintError)) throw error
    throw refuse('constraint_too_large', { field, why: error.message })
  }
}

function outcomeOf(
  constraint: Constraint,
  options: ConstraintOptions,
  toolArguments: ToolArguments,
): Outcome {
  try {
    if (constraint.kind === 'turn') return compiledTurn(constraint, options, toolArguments)
    const notes = new Set<string>()
    const { rules } = grammarWithTags(constraint, options, notes)
    return compiledOf(packGrammar(rules), [], notes)
  } catch (error) {
    return refusalOf(error)
  }
}

function compiledOf(grammar: CompiledGrammar, widened: Iterable<string>, notes: Iterable<string>): Compiled {
  return { grammar, bytes: sizeOfGrammar(grammar), widened: [...widened], notes: [...notes] }
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
    ...schemaSettings(options, createConstraintBudget(), notes),
    anyOrder: false,
    remembers: false,
  }
  const offered = calls === undefined ? [] : calledTools(calls)
  const widened = new Set<string>()
  const allowance = { steps: stepsOfTools }
  const argumentsOf = (tool: OfferedTool, format: Pick<CallFormat, 'arguments' | 'close'>): Expr => {
    const toolGrammar = inTool(tool, () => toolArguments.of(tool, format, settings, allowance))
    for (const [name, expr] of toolGrammar.rules) grammar.rules.set(name, expr)
    for (const what of toolGrammar.widened) widened.add(`${tool.name}${what}`)
    for (const note of toolGrammar.notes) notes.add(`${tool.name}${note}`)
    return toolGrammar.start
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
  const content =
    turn.content && addSubgrammar(grammarWithTags(turn.content, options, notes), 'content-', grammar)
  addTurn(turn, { content, tools, second }, grammar)
  return compiledOf(packGrammar(grammar.rules), widened, notes)
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

function grammarWithTags(
  constraint: Exclude<Constraint, TurnConstraint>,
  options: ConstraintOptions,
  notes: Set<string>,
): Grammar {
  if (constraint.kind !== 'structural_tag') return grammarOf(constraint, options, notes)
  const budget = createConstraintBudget()
  const settings = schemaSettings(options, budget, notes)
  const compileSchema: CompileSchema = (schema, grammar, prefix, path) =>
    placed(path, () => addSchema(schema, grammar, `${prefix}-`, settings, budget))
  return structuralTagGrammar(constraint.tag, compileSchema, budget)
}

/** Reports errors of an embedded schema by its path in the whole constraint. */
function placed(parent: string, compile: () => Expr): Expr {
  try {
    return compile()
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    const { keyword, path, why, fault } = error
    throw new SchemaError(keyword, `#${parent}${path.replace(/^#/, '')}`, why, fault)
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
