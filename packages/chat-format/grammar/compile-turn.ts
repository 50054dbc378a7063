import {
  addSchema,
  alternatives,
  type ConstraintOptions,
  createConstraintBudget,
  type Expr,
  type Grammar,
  grammarOf,
  literal,
  SchemaError,
  schemaSettings,
  sequence,
} from '../../constraints/index.ts'
import { type AlternativeSpelling, alternativeSpellings } from '../alternative-spellings.ts'
import type { CallFormat } from '../call-format.ts'
import { codedForms } from '../coded/coded-forms.ts'
import type { OfferedTool } from '../offered-tool.ts'
import type { Constraint, TurnConstraint } from '../turn-constraint.ts'
import { derivativesOf } from './derivatives.ts'
import { literalExpr, literalPath, type Placed } from './literals.ts'
import { nameIn, type Path, path, pathExpr } from './paths.ts'
import { type CompileSchema, structuralTagGrammar } from './structural-tag.ts'
import { addSubgrammar } from './subgrammar.ts'
import { createToolArguments } from './tool-arguments.ts'
import { addTurn } from './turn-grammar.ts'

export { structuralTagGrammar } from './structural-tag.ts'

/** A grammar, and what is to be said of the schemas in it. */
interface AnswerGrammar {
  rules: Grammar['rules']
  /** What cannot be kept in the schema of a tool: the tool, the path in its parameters and the keyword. */
  widened: ReadonlySet<string>
  /** Names in schemas that are nearly a keyword: the path, the name and the keyword. */
  notes: ReadonlySet<string>
}

/** The schema of this tool cannot be enforced; the cause says why. */
export class ToolSchemaError extends Error {
  override readonly name = 'ToolSchemaError'
  readonly tool: OfferedTool

  constructor(tool: OfferedTool, cause: unknown) {
    super(`the schema of ${tool.name} cannot be enforced`, { cause })
    this.tool = tool
  }
}

/** For all tools of a request together. */
const stepsOfTools = 2_000_000

/** Grammars of answers. Throws ToolSchemaError, and the errors of the constraint library. */
export function createAnswerGrammars() {
  const toolArguments = createToolArguments()

  function grammarOfTurn(turn: TurnConstraint, options: ConstraintOptions): AnswerGrammar {
    const grammar: Grammar = { rules: new Map() }
    const { calls } = turn
    const notes = new Set<string>()
    const widened = new Set<string>()
    const settings = {
      ...schemaSettings(options, createConstraintBudget(), notes),
      anyOrder: false,
      remembers: false,
    }
    const allowance = { steps: stepsOfTools }
    const argumentsOf = (tool: OfferedTool, format: Pick<CallFormat, 'arguments' | 'close'>): Expr => {
      const compiled = inTool(tool, () => toolArguments.of(tool, format, settings, allowance))
      for (const [name, expr] of compiled.rules) grammar.rules.set(name, expr)
      for (const what of compiled.widened) widened.add(`${tool.name}${what}`)
      for (const note of compiled.notes) notes.add(`${tool.name}${note}`)
      return compiled.start
    }
    const offered = calls === undefined ? [] : calledTools(calls)
    const tools = offered.map((tool) => ({
      name: tool.name,
      arguments: argumentsOf(tool, dataOf((calls as Calls).format)),
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
    return { rules: grammar.rules, widened, notes }
  }

  return {
    of(constraint: Constraint, options: ConstraintOptions): AnswerGrammar {
      if (constraint.kind === 'turn') return grammarOfTurn(constraint, options)
      const notes = new Set<string>()
      return { ...grammarWithTags(constraint, options, notes), widened: new Set(), notes }
    },
  }
}

type Calls = NonNullable<TurnConstraint['calls']>

const dataOf = (format: Calls['format']): CallFormat =>
  'own' in format ? codedForms[format.own].calls : format

const asJson = { arguments: { kind: 'json', isQuoted: false }, close: [] } as const

function calledTools({ tools, choice }: Calls): readonly OfferedTool[] {
  return typeof choice === 'string' ? tools : tools.filter(({ name }) => name === choice.name)
}

function inTool<T>(tool: OfferedTool, compile: () => T): T {
  try {
    return compile()
  } catch (error) {
    throw new ToolSchemaError(tool, error)
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
    atPath(path, () => addSchema(schema, grammar, `${prefix}-`, settings, budget))
  return structuralTagGrammar(constraint.tag, compileSchema, budget)
}

/** Reports errors of an embedded schema by its path in the whole constraint. */
function atPath(outer: string, compile: () => Expr): Expr {
  try {
    return compile()
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    const { keyword, path, why, fault } = error
    throw new SchemaError(keyword, `#${outer}${path.replace(/^#/, '')}`, why, fault)
  }
}

/** A tool with the piece for its arguments as JSON. */
interface SecondTool {
  name: string
  json: Expr
}

/** What has to be read at the start of an answer until it can only be a call in one of these spellings. */
function alternativePaths(spellings: readonly AlternativeSpelling[], tools: readonly SecondTool[]): Path[] {
  return spellings.flatMap(({ opens, certain, mids, close }) => {
    // Shared by all spellings: each name of each tool is a path of its own.
    const names = path()
    for (const tool of tools) {
      const rest = sequence(
        alternatives(...mids.map((mid) => literalExpr(placed(mid, certain === '', false)))),
        tool.json,
        literal(close),
      )
      const armed = path(
        Array.from(derivativesOf(rest, new Map()), ([point, next]) => [point, path([], next)]),
      )
      const end = nameIn(names, tool.name)
      for (const [point, next] of literalPath(placed(certain, true, false), armed).steps) {
        end.steps.set(point, next)
      }
    }
    // An opening that nothing else begins with is a mark, and only a name can follow it.
    const behind = certain === '' ? path([], pathExpr(names)) : names
    return opens.map((open) => literalPath(placed(open, false, true), behind))
  })
}

function placed(text: string, isAfterName: boolean, isBeforeName: boolean): Placed {
  return { literal: text === '' ? [] : [text], isAfterName, isBeforeName, isJson: true, ids: 'any' }
}
