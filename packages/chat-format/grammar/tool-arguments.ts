import {
  addWritten,
  alternatives,
  BudgetExceededError,
  charClass,
  createBudget,
  createGroupCache,
  type Expr,
  type Grammar,
  isRecord,
  literal,
  type Range,
  SchemaError,
  type SchemaSettings,
  sequence,
} from '../../constraints/index.ts'
import type { CallFormat } from '../call-format.ts'
import type { OfferedTool } from '../offered-tool.ts'
import { elementsExpr } from './element-arguments.ts'
import { pythonExpr, without } from './python-arguments.ts'
import { addSubgrammar } from './subgrammar.ts'
import { taggedExpr } from './tagged-arguments.ts'
import { widened } from './widening.ts'

/** The characters of a JSON text that are escaped if it is itself written as a JSON string. */
const escapes = new Map([
  [0x09, '\\t'],
  [0x0a, '\\n'],
  [0x0d, '\\r'],
  [0x22, '\\"'],
  [0x5c, '\\\\'],
])

/** JSON texts as the contents of a JSON string, without its quotes. */
function inString(expr: Expr): Expr {
  switch (expr.kind) {
    case 'literal':
      return literal(
        Array.from(expr.text, (character) => escapes.get(character.codePointAt(0) ?? 0) ?? character).join(
          '',
        ),
      )
    case 'class': {
      const special = [...escapes].filter(([point]) =>
        expr.ranges.some(([first, last]) => first <= point && point <= last),
      )
      if (special.length === 0) return expr
      let plain: Range[] = [...expr.ranges]
      for (const [point] of special) plain = without(plain, point)
      return alternatives(charClass(...plain), ...special.map(([, text]) => literal(text)))
    }
    case 'rule':
      return expr
    case 'repetition':
      return { ...expr, of: inString(expr.of) }
    case 'sequence':
      return sequence(...expr.of.map(inString))
    case 'alternatives':
      return alternatives(...expr.of.map(inString))
  }
}

/** The arguments of one tool as a piece of grammar, which is added to every grammar that offers the tool. */
interface ArgumentsGrammar {
  start: Expr
  rules: ReadonlyMap<string, Expr>
  /** What was widened in the schema: the path and the keyword. */
  widened: readonly string[]
  /** Names in the schema that are nearly a keyword. */
  notes: readonly string[]
}

interface ToolArguments {
  /** Throws what is wrong with the schema. `allowance` is shared by all tools of a request. */
  of(
    tool: OfferedTool,
    format: Pick<CallFormat, 'arguments' | 'close'>,
    settings: SchemaSettings,
    allowance: Allowance,
  ): ArgumentsGrammar
}

/** The steps that compiling may still take. */
interface Allowance {
  steps: number
}

const maxKept = 2048
const maxRules = 200_000
const maxSteps = 100_000
/** Keywords of one tool that are dropped one by one. */
const maxWidened = 32

/** Agents send the same tools with every turn, and add or remove a few. */
export function createToolArguments(): ToolArguments {
  const cache = createGroupCache<ArgumentsGrammar>({
    max: maxKept,
    maxSize: maxRules,
    sizeOf: ({ rules }) => rules.size + 1,
  })
  let count = 0

  function compiled(schema: unknown, of: Written, allowance: Allowance): ArgumentsGrammar {
    const grammar: Grammar = { rules: new Map() }
    const budget = createBudget(Math.min(maxSteps, allowance.steps))
    const counting = {
      spend(steps: number) {
        allowance.steps -= steps
        budget.spend(steps)
      },
    }
    const notes = new Set<string>()
    const { refused } = of.settings.unknownNames
    const settings = { ...of.settings, unknownNames: { refused, note: (note: string) => notes.add(note) } }
    const start = addWritten(schema, grammar, `tool-${++count}-`, settings, counting, (root, emission) => {
      if (of.arguments.kind === 'json') return emission.value([root])
      if (of.arguments.kind === 'python') return pythonExpr(root, emission)
      if (of.arguments.kind === 'elements') return elementsExpr(of.arguments, of.parameters, root, emission)
      return taggedExpr(of.arguments, of.close, of.parameters, root, emission)
    })
    if (of.arguments.kind !== 'json' || !of.arguments.isQuoted)
      return { start, rules: grammar.rules, widened: [], notes: [...notes] }
    // The same rules mean other texts here, so they need other names.
    const quoted: Grammar = { rules: new Map() }
    const inside = addSubgrammar(
      { rules: new Map([...grammar.rules, ['root', start]]) },
      `quoted-${count}-`,
      quoted,
    )
    for (const [name, expr] of quoted.rules) quoted.rules.set(name, inString(expr))
    return {
      start: sequence(literal('"'), inside, literal('"')),
      rules: quoted.rules,
      widened: [],
      notes: [...notes],
    }
  }

  /** Widens the smallest part that cannot be kept, until the rest can be. */
  function widenedUntilKept(
    parameters: Record<string, unknown>,
    of: Written,
    allowance: Allowance,
  ): ArgumentsGrammar {
    let schema: Record<string, unknown> = parameters
    const what: string[] = []
    for (;;) {
      try {
        return { ...compiled(schema, of, allowance), widened: what }
      } catch (error) {
        if (error instanceof SchemaError && error.fault === 'unsupported' && what.length < maxWidened) {
          const wider = widened(schema, error)
          schema = { ...wider.schema, type: 'object' }
          what.push(wider.what)
        } else if (error instanceof BudgetExceededError || error instanceof SchemaError) {
          if (error instanceof SchemaError && error.fault === 'invalid') throw error
          const smaller = what.includes('# size') ? undefined : shallow(schema)
          if (smaller === undefined || what.includes('#/properties size')) {
            return { ...compiled({ type: 'object' }, of, { steps: maxSteps }), widened: [...what, '# size'] }
          }
          schema = smaller
          what.push('#/properties size')
        } else throw error
      }
    }
  }

  return {
    of({ parameters, strict }, { arguments: form, close }, settings, allowance) {
      const of: Written = {
        arguments: form,
        close: form.kind === 'tagged' && typeof close[0] === 'string' ? close[0] : '',
        parameters,
        settings,
      }
      const source = JSON.stringify([parameters ?? null, strict, form, of.close, settings])
      const known = cache.get(source)
      if (known !== undefined) return known
      const schema = schemaOf(parameters)
      const fresh = strict ? compiled(schema, of, allowance) : widenedUntilKept(schema, of, allowance)
      // A schema that only ran out of steps because of other tools may be kept the next time.
      if (allowance.steps > 0) cache.set(source, fresh)
      return fresh
    },
  }
}

/** How arguments are written. */
interface Written {
  arguments: CallFormat['arguments']
  close: string
  /** The schema as it was given, which determines how arguments are read. */
  parameters: unknown
  settings: SchemaSettings
}

/** The properties with only their types. */
function shallow({ properties, required, additionalProperties }: Record<string, unknown>) {
  if (!isRecord(properties)) return undefined
  const types = Object.entries(properties).map(([name, schema]) => [
    name,
    isRecord(schema) && schema.type !== undefined ? { type: schema.type } : {},
  ])
  return {
    type: 'object',
    properties: Object.fromEntries(types),
    ...(required === undefined ? {} : { required }),
    ...(additionalProperties === undefined || additionalProperties === false
      ? {}
      : { additionalProperties: true }),
  }
}

/** Arguments are an object, and a tool without a schema accepts none. */
function schemaOf(parameters: unknown): Record<string, unknown> {
  if (parameters === undefined || parameters === null) return none
  if (parameters === true) return { type: 'object' }
  if (!isRecord(parameters)) {
    throw new SchemaError('type', '#', 'the schema of the arguments of a tool must be an object', 'invalid')
  }
  const { type, properties } = parameters
  if (type !== undefined && ![type].flat().includes('object')) {
    throw new SchemaError('type', '#', 'the arguments of a tool must be an object', 'invalid')
  }
  const isEmpty = isRecord(properties) && Object.keys(properties).length === 0
  const saysMore = Object.keys(parameters).some((keyword) => !sayNothing.has(keyword))
  return { ...(isEmpty && !saysMore ? none : {}), ...parameters, type: 'object' }
}

const none = { type: 'object', properties: {}, additionalProperties: false }

/** With only these keywords, a schema without properties means that there are none. */
const sayNothing = new Set([
  'type',
  'properties',
  'required',
  '$schema',
  'title',
  'description',
  '$comment',
  'strict',
])
