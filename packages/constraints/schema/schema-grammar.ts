import { LRUCache } from 'lru-cache'
import type { Automaton } from '../automaton/automaton.ts'
import { sharedAutomatonRules } from '../automaton/automaton-rules.ts'
import type { Budget } from '../grammar/budget.ts'
import { createEqualPieces } from '../grammar/equal-pieces.ts'
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
import { someNumber } from '../numbers/number-ranges.ts'
import { canonicalNumbers, numberText } from '../numbers/numbers.ts'
import { arrayExpr, someArray } from './arrays.ts'
import { type Case, constants, createCases, isReference, type TypeName, typesOf } from './cases.ts'
import type { Closing, Emission, Remembered } from './emission.ts'
import { allCharacters, anyCharacter, inJsonString } from './json-characters.ts'
import { isRecord, keywords } from './keywords.ts'
import { numberDemands } from './number-demands.ts'
import { objectExpr, someObject } from './objects.ts'
import { createSchemaDocument, type SchemaNode, type UnknownNames } from './schema-document.ts'
import { quoted, someString, stringExpr } from './strings.ts'
import { createTextLanguages } from './text-languages.ts'
import { createValueCheck } from './value-check.ts'
import { hasAtLeast } from './value-count.ts'
import { createRanks, valuesExpr } from './values.ts'

export interface SchemaSettings {
  /** Between the parts of objects and lists, and after colons. */
  space: Expr
  gap: Expr
  closing: Closing
  unknownNames: UnknownNames
  anyOrder: boolean
  /** The code that follows the grammar remembers what was written. */
  remembers: boolean
}

/** How deep the search for branches that cannot hold together goes. */
const lookahead = 3

/**
 * Adds the rules of a schema to a grammar, with names that begin with the prefix, and returns the piece for a value that
 * fits. Each rule stands for a set of schemas that hold together for one value; that is how allOf and references are
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

/** The same for values that as a whole are not written as JSON: `write` returns the piece for one. */
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
  const holds = createValueCheck(document, texts, budget)
  const rules = new Map<string, Expr>()
  const pieces = createEqualPieces()
  const shared = new Map<number, string>()
  const names = new Map<string, string>()
  const pending: { name: string; write: () => Expr }[] = []
  let count = 0

  const reserve = (hint: string): string => {
    budget.spend(4)
    count++
    return `${prefix}${hint}-${count}`
  }

  const named = (hint: string, expr: Expr): Expr => {
    const { number, walked } = pieces(expr)
    budget.spend(walked >> 3)
    let name = shared.get(number)
    if (name === undefined) {
      name = reserve(hint)
      shared.set(number, name)
      rules.set(name, expr)
    }
    return rule(name)
  }

  const possible = (nodes: readonly SchemaNode[], depth: number): boolean =>
    depth <= 0 || cases.of(nodes).some((option) => possibleCase(option, nodes.length, depth))

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

  const valueIn: Emission['valueIn'] = (notation, unresolved, write) => {
    const nodes = plain(unresolved, document.resolve)
    const ids = nodes.map(({ id }) => id).sort((a, b) => a - b)
    const key = `${ids.join()} ${notation}`
    let name = names.get(key)
    if (name === undefined) {
      name = reserve(nodes.length === 0 ? 'value' : hintOf(nodes[0]?.path ?? ''))
      names.set(key, name)
      pending.push({ name, write: () => write(nodes) })
    }
    return rule(name)
  }
  const value = (unresolved: readonly SchemaNode[], of: Emission): Expr =>
    valueIn(of.alike === undefined ? '' : 'alike', unresolved, (nodes) =>
      casesExpr(cases.of(nodes), nodes.length, of),
    )

  let alike: Emission | undefined
  const remembered: Remembered[] = []
  const remembering = (what: Remembered): Emission => {
    if (!settings.remembers) {
      throw new SchemaError(what.keyword, what.path, 'the items written here are not remembered')
    }
    remembered.push(what)
    if (alike === undefined) {
      const own = named('character', inJsonString(allCharacters))
      const made: Emission = {
        ...emission,
        alike: { rankOf: createRanks(schema, budget), plain: emission, forks: false, loose: false },
        anyOrder: false,
        character: own,
        string: named('string', quoted(repetition(own, 0))),
        value: (nodes) => value(nodes, made),
        remembering(inner) {
          const why = 'it is inside items that are themselves remembered'
          throw new SchemaError(inner.keyword, inner.path, why)
        },
      }
      alike = made
    }
    return alike
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
    valueIn,
    alike: undefined,
    remembering,
    value: (nodes) => value(nodes, emission),
    holds,
    named,
    numberOf: (expr) => pieces(expr).number,
    write(automaton, encode) {
      const written = sharedAutomatonRules(automaton, encode)
      budget.spend(4 * written.rules.size)
      for (const [name, expr] of written.rules) rules.set(name, expr)
      return written.start
    },
    possible,
    hasAtLeast: (nodes, count) => hasAtLeast(nodes, count, emission),
  }

  const root = write(document.root, emission)
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    rules.set(next.name, next.write())
  }
  const [first] = remembered
  if (first !== undefined && alike?.alike?.forks === true && alike.alike.loose) {
    const why = 'its items are objects or lists of several kinds, and some have members that are not declared'
    throw new SchemaError(first.keyword, first.path, why)
  }
  for (const [name, expr] of rules) grammar.rules.set(name, expr)
  return root
}

/** Without schemas that always hold, and without references that have no other keywords. */
function plain(
  nodes: readonly SchemaNode[],
  resolve: (node: SchemaNode) => SchemaNode,
): readonly SchemaNode[] {
  const found = new Map<number, SchemaNode>()
  for (const start of nodes) {
    let node = start
    // A cycle of references is reported by the code that follows them.
    for (let steps = 0; steps < 16 && isReference(node); steps++) node = resolve(node)
    if (node.never || Object.keys(node.schema).length > 0) found.set(node.id, node)
  }
  return [...found.values()]
}

function hintOf(path: string): string {
  const last = path.split('/').findLast((step) => /^[A-Za-z][A-Za-z0-9_-]{0,30}$/.test(step))
  return last?.replaceAll('_', '-').toLowerCase() ?? 'schema'
}

function casesExpr(all: readonly Case[], asked: number, emission: Emission): Expr {
  const ways = new Map<number, Expr>()
  const values: unknown[] = []
  const { alike } = emission
  const composed: { array: number; object: number } = { array: 0, object: 0 }
  for (const { bases, values: listed } of all) {
    if (listed !== undefined) {
      values.push(...listed)
      if (listed.some(Array.isArray)) composed.array++
      if (listed.some(isRecord)) composed.object++
      continue
    }
    for (const type of typesOf(bases)) {
      const constant = constants(bases, type)
      values.push(...constant)
      if (type === 'null' || type === 'boolean') continue
      const expr =
        all.length > 1 && (type === 'array' || type === 'object')
          ? sharedExpr(type, bases, asked, emission)
          : typeExpr(type, bases, asked, emission)
      ways.set(emission.numberOf(expr), expr)
      if (type === 'array' || type === 'object') composed[type]++
      emission.budget.spend(1)
    }
  }
  if (alike !== undefined && Object.values(composed).some((kinds) => kinds > 1)) alike.forks = true
  return alternatives(...(values.length > 0 ? [valuesExpr(unique(values), emission)] : []), ...ways.values())
}

/** A rule of its own, so that a kind of object that is a branch of many unions is written once. */
function sharedExpr(
  type: 'array' | 'object',
  bases: readonly SchemaNode[],
  asked: number,
  emission: Emission,
): Expr {
  const { alike, document } = emission
  // Where it matters what else is evaluated, the path of a schema matters too.
  const saying = document.saysUnevaluated ? bases : bases.filter(saysSomething)
  const notation = `${type} ${asked}${alike === undefined ? '' : ' alike'}`
  return emission.valueIn(notation, saying, (nodes) => typeExpr(type, nodes, asked, emission))
}

/** Whether the schema demands anything apart from combining others, which the case already covers. */
function saysSomething({ schema, never: none }: SchemaNode): boolean {
  const isAsked = (keyword: string) => (keywords[keyword]?.standing ?? 'derived') !== 'annotation'
  return none || Object.keys(schema).some((keyword) => !combining.has(keyword) && isAsked(keyword))
}

const combining = new Set(['$ref', 'allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else'])

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
      const demands = numberDemands(bases, type === 'integer')
      const text =
        emission.alike === undefined
          ? numberText(demands, emission.budget, digits)
          : digits(canonicalNumbers(demands, emission.budget))
      return emission.named(type, text)
    }
    default:
      return never
  }
}

/** Most characters of numbers belong to one of a few sets of digits. */
const classes = new LRUCache<string, Expr, readonly Range[]>({
  max: 1000,
  memoMethod: (_key, _stale, { context }) => charClass(...context),
})

function classOf(ranges: readonly Range[]): Expr {
  return classes.memo(ranges.join(), { context: ranges })
}

export function spaces(kind: 'none' | 'bounded'): { space: Expr; gap: Expr } {
  if (kind === 'none') return { space: emptyText, gap: emptyText }
  const indent = repetition(charClass([0x09, 0x09], [0x20, 0x20]), 0, 32)
  return {
    space: optional(alternatives(literal(' '), sequence(literal('\n'), indent))),
    gap: optional(literal(' ')),
  }
}
