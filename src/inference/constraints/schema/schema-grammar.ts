import type { Automaton } from '../automaton/automaton.ts'
import type { Budget } from '../grammar/budget.ts'
import { SchemaError } from '../grammar/errors.ts'
import {
  alternatives,
  charClass,
  type Expr,
  emptyText,
  type Grammar,
  literal,
  never,
  optional,
  type Range,
  repetition,
  rule,
  sequence,
} from '../grammar/expressions.ts'
import { compareDecimals, type Decimal, decimalOf } from '../numbers/decimals.ts'
import { isSayableStep } from '../numbers/multiples.ts'
import { type Bound, type NumberDemands, someNumber } from '../numbers/number-ranges.ts'
import { numberText } from '../numbers/numbers.ts'
import { arrayExpr, someArray } from './arrays.ts'
import { type Case, constants, createCases, type TypeName, typesOf } from './cases.ts'
import type { Closing, Emission } from './emission.ts'
import { numberFormats } from './formats.ts'
import { createHolds } from './holds.ts'
import { anyCharacter } from './json-characters.ts'
import { objectExpr, someObject } from './objects.ts'
import {
  createSchemaDocument,
  derived,
  excludedBy,
  type SchemaNode,
  type UnknownNames,
} from './schema-document.ts'
import { quoted, someString, stringExpr } from './strings.ts'
import { createTextLanguages } from './text-languages.ts'
import { valuesExpr } from './values.ts'
import { writtenAutomaton } from './written-automata.ts'

export interface SchemaSettings {
  /** Between the parts of objects and lists, and behind colons. */
  space: Expr
  gap: Expr
  closing: Closing
  unknownNames: UnknownNames
  anyOrder: boolean
}

/** How far it is looked ahead for branches that cannot hold together. */
const lookahead = 3

/**
 * Adds the rules of a schema to a grammar, their names beginning with the prefix, and gives what stands for a value
 * that fits. Each rule is of a set of schemas that hold together for one value; that is how allOf and references are
 * merged, and why recursion ends.
 */
export function addSchema(
  schema: unknown,
  grammar: Grammar,
  prefix: string,
  settings: SchemaSettings,
  budget: Budget,
): Expr {
  return addWritten(schema, grammar, prefix, settings, budget, (root, { value }) => value([root]))
}

/** The same for values that are not written as JSON as a whole: `write` says what stands for one. */
export function addWritten(
  schema: unknown,
  grammar: Grammar,
  prefix: string,
  settings: SchemaSettings,
  budget: Budget,
  write: (root: SchemaNode, emission: Emission) => Expr,
): Expr {
  const document = createSchemaDocument(schema, budget, settings.unknownNames)
  const texts = createTextLanguages(budget)
  const holds = createHolds(document, texts, budget)
  const rules = new Map<string, Expr>()
  const shared = new Map<string, string>()
  const names = new Map<string, string>()
  const pending: { name: string; nodes: readonly SchemaNode[] }[] = []
  let count = 0

  const reserve = (hint: string): string => {
    budget.spend(4)
    count++
    return `${prefix}${hint}-${count}`
  }

  const named = (hint: string, expr: Expr): Expr => {
    const key = JSON.stringify(expr)
    budget.spend(key.length >> 6)
    let name = shared.get(key)
    if (name === undefined) {
      name = reserve(hint)
      shared.set(key, name)
      rules.set(name, expr)
    }
    return rule(name)
  }

  const possible = (nodes: readonly SchemaNode[], depth: number): boolean =>
    depth <= 0 || cases.of(nodes).some((one) => possibleCase(one, nodes.length, depth))

  const possibleCase = ({ bases, values }: Case, asked: number, depth: number): boolean =>
    values !== undefined ||
    [...typesOf(bases)].some((type) => {
      switch (type) {
        case 'string':
          return someString(bases, texts)
        case 'integer':
        case 'number':
          return someNumber(numberDemands(bases, type === 'integer'))
        case 'array':
          return someArray(bases, emission, depth)
        case 'object':
          return someObject(bases, asked, emission, depth)
        default:
          return constants(bases, type).length > 0
      }
    })

  const cases = createCases(document, budget, holds, (nodes) => possible(nodes, lookahead))

  const value = (given: readonly SchemaNode[]): Expr => {
    const nodes = plain(given, document.resolve)
    const key = nodes
      .map(({ id }) => id)
      .sort((a, b) => a - b)
      .join()
    let name = names.get(key)
    if (name === undefined) {
      name = reserve(nodes.length === 0 ? 'value' : hintOf(nodes[0]?.path ?? ''))
      names.set(key, name)
      pending.push({ name, nodes })
    }
    return rule(name)
  }

  const settled = {
    space: named('space', settings.space),
    gap: settings.gap.kind === 'repetition' ? named('gap', settings.gap) : settings.gap,
  }
  const character = named('character', anyCharacter)
  const emission: Emission = {
    document,
    cases,
    texts,
    budget,
    space: settings.space.kind === 'sequence' ? settings.space : settled.space,
    gap: settled.gap,
    closing: settings.closing,
    anyOrder: settings.anyOrder,
    character,
    string: named('string', quoted(repetition(character, 0))),
    value,
    holds,
    named,
    write(automaton, encode) {
      const written = writtenAutomaton(automaton, encode)
      budget.spend(4 * written.rules.size)
      for (const [name, expr] of written.rules) rules.set(name, expr)
      return written.start
    },
    possible,
  }

  const root = write(document.root, emission)
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    rules.set(next.name, casesExpr(cases.of(next.nodes), next.nodes.length, emission))
  }
  for (const [name, expr] of rules) grammar.rules.set(name, expr)
  return root
}

/** Without those that always hold, and without references that say nothing else. */
function plain(
  nodes: readonly SchemaNode[],
  resolve: (node: SchemaNode) => SchemaNode,
): readonly SchemaNode[] {
  const found = new Map<number, SchemaNode>()
  for (const given of nodes) {
    let node = given
    // A circle of references is left for those to name who follow them.
    for (let steps = 0; steps < 16 && isReference(node); steps++) node = resolve(node)
    if (node.never || Object.keys(node.schema).length > 0) found.set(node.id, node)
  }
  return [...found.values()]
}

function isReference({ schema }: SchemaNode): boolean {
  return schema.$ref !== undefined && Object.keys(schema).length === 1
}

function hintOf(path: string): string {
  const last = path.split('/').findLast((part) => /^[A-Za-z][A-Za-z0-9_-]{0,30}$/.test(part))
  return last?.replaceAll('_', '-').toLowerCase() ?? 'schema'
}

function casesExpr(all: readonly Case[], asked: number, emission: Emission): Expr {
  const ways = new Map<string, Expr>()
  const values: unknown[] = []
  for (const { bases, values: listed } of all) {
    if (listed !== undefined) {
      values.push(...listed)
      continue
    }
    for (const type of typesOf(bases)) {
      const constant = constants(bases, type)
      values.push(...constant)
      if (type === 'null' || type === 'boolean') continue
      const expr = typeExpr(type, bases, asked, emission)
      ways.set(JSON.stringify(expr), expr)
      emission.budget.spend(1)
    }
  }
  return alternatives(...(values.length > 0 ? [valuesExpr(unique(values), emission)] : []), ...ways.values())
}

function unique(values: readonly unknown[]): unknown[] {
  return [...new Map(values.map((value) => [JSON.stringify(value), value])).values()]
}

function typeExpr(type: TypeName, bases: readonly SchemaNode[], asked: number, emission: Emission): Expr {
  switch (type) {
    case 'string':
      return stringExpr(bases, emission)
    case 'array':
      return arrayExpr(bases, emission)
    case 'object':
      return objectExpr(bases, asked, emission)
    case 'integer':
    case 'number': {
      const digits = (automaton: Automaton) => emission.write(automaton, classOf)
      return emission.named(
        type,
        numberText(numberDemands(bases, type === 'integer'), emission.budget, digits),
      )
    }
    default:
      return never
  }
}

function classOf(ranges: readonly Range[]): Expr {
  return charClass(...ranges)
}

function numberDemands(bases: readonly SchemaNode[], integer: boolean): NumberDemands {
  let least: Bound | undefined
  let most: Bound | undefined
  const steps: Decimal[] = []
  const excluded: Decimal[] = []
  const raise = (value: Decimal | undefined, exclusive: boolean) => {
    if (value === undefined) return
    const order = least === undefined ? 1 : compareDecimals(value, least.value)
    if (order > 0 || (order === 0 && exclusive)) least = { value, exclusive }
  }
  const lower = (value: Decimal | undefined, exclusive: boolean) => {
    if (value === undefined) return
    const order = most === undefined ? -1 : compareDecimals(value, most.value)
    if (order < 0 || (order === 0 && exclusive)) most = { value, exclusive }
  }
  for (const base of bases) {
    const { schema, path } = base
    raise(decimalOf(schema.minimum), false)
    raise(decimalOf(schema.exclusiveMinimum), true)
    lower(decimalOf(schema.maximum), false)
    lower(decimalOf(schema.exclusiveMaximum), true)
    const format = typeof schema.format === 'string' ? schema.format : ''
    const [smallest, largest] = Object.hasOwn(numberFormats, format) ? (numberFormats[format] ?? []) : []
    if (smallest !== undefined && largest !== undefined) {
      raise({ units: BigInt(smallest), scale: 0 }, false)
      lower({ units: BigInt(largest), scale: 0 }, false)
      steps.push({ units: 1n, scale: 0 })
    }
    const step = decimalOf(schema.multipleOf)
    if (step !== undefined) {
      if (step.units <= 0n)
        throw new SchemaError('multipleOf', path, 'it takes a number above zero', 'invalid')
      if (!isSayableStep(step)) throw new SchemaError('multipleOf', path, 'the step has too many digits')
      steps.push(step)
    }
    for (const value of excludedBy(base)) {
      const decimal = decimalOf(value)
      if (decimal !== undefined) excluded.push(decimal)
    }
  }
  const ones = steps.filter(({ units, scale }) => !(units === 1n && scale === 0))
  const whole = integer || ones.length < steps.length
  const fractional = bases.some(({ schema }) => schema[derived.notInteger] === true)
  return { integer: whole, least, most, steps: ones, excluded, fractional }
}

export function spaces(kind: 'none' | 'bounded'): { space: Expr; gap: Expr } {
  if (kind === 'none') return { space: emptyText, gap: emptyText }
  const indent = repetition(charClass([0x09, 0x09], [0x20, 0x20]), 0, 32)
  return {
    space: optional(alternatives(literal(' '), sequence(literal('\n'), indent))),
    gap: optional(literal(' ')),
  }
}
