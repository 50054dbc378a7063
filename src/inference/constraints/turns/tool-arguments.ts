import { LRUCache } from 'lru-cache'
import type { CallFormat } from '../../tools/call-format.ts'
import type { OfferedTool } from '../../tools/offered-tool.ts'
import { createBudget } from '../grammar/budget.ts'
import { SchemaError } from '../grammar/errors.ts'
import type { Expr, Grammar } from '../grammar/expressions.ts'
import { isRecord } from '../schema/keywords.ts'
import { addWritten, type SchemaSettings } from '../schema/schema-grammar.ts'
import { taggedExpr } from './tagged-arguments.ts'

/** The arguments of one tool as a piece of grammar, which goes into every grammar that offers the tool. */
export interface ArgumentsGrammar {
  start: Expr
  rules: ReadonlyMap<string, Expr>
  /** What of the schema was widened: the path and the keyword. */
  widened: readonly string[]
}

export interface ToolArguments {
  of(tool: OfferedTool, format: CallFormat, settings: SchemaSettings): ArgumentsGrammar
}

const mostKept = 1024
const mostSteps = 200_000

/** Agents send the same tools with every turn, and add or leave out a few. */
export function createToolArguments(): ToolArguments {
  const cache = new LRUCache<string, ArgumentsGrammar>({ max: mostKept })
  let count = 0
  return {
    of({ parameters, strict }, { arguments: given, close }, settings) {
      const source = JSON.stringify([parameters ?? null, strict, given, close[0], settings])
      const known = cache.get(source)
      if (known !== undefined) return known
      const grammar: Grammar = { rules: new Map() }
      const start = addWritten(
        schemaOf(parameters),
        grammar,
        `tool-${++count}-`,
        settings,
        createBudget(mostSteps),
        (root, emission) => {
          if (given.kind !== 'tagged') return emission.value([root])
          return taggedExpr(given, typeof close[0] === 'string' ? close[0] : '', parameters, root, emission)
        },
      )
      const compiled = { start, rules: grammar.rules, widened: [] }
      cache.set(source, compiled)
      return compiled
    },
  }
}

/** Arguments are an object, and a schema without any allows none. */
export function schemaOf(parameters: unknown): Record<string, unknown> {
  if (parameters === undefined || parameters === null) return none
  if (parameters === true) return { type: 'object' }
  if (!isRecord(parameters)) {
    throw new SchemaError('type', '#', 'the arguments of a tool have a schema of objects', 'invalid')
  }
  const { type, properties } = parameters
  if (type !== undefined && ![type].flat().includes('object')) {
    throw new SchemaError('type', '#', 'the arguments of a tool are an object', 'invalid')
  }
  const isEmpty = isRecord(properties) && Object.keys(properties).length === 0
  const saysMore = Object.keys(parameters).some((keyword) => !sayNothing.has(keyword))
  return { ...(isEmpty && !saysMore ? none : {}), ...parameters, type: 'object' }
}

const none = { type: 'object', properties: {}, additionalProperties: false }

/** Beside these a schema with no properties means that there are none. */
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
