import { JsonNumber, parseLossless } from '../../../packages/json/index.ts'
import { shortened } from '../described.ts'
import { refuse } from '../refusals.ts'
import { storableText } from '../text.ts'
import type { Comparator, ConversionTarget, Expression, Literal } from './expression.ts'
import { textOfNumber } from './json-value.ts'
import { parseNumber } from './numbers.ts'
import { invalidPathReason } from './path.ts'

/** Bounds that keep the statement, and everything that walks the tree, small. */
const deepest = 100
const maxNodes = 1_000
const maxListLength = 1_000

const conversions: readonly ConversionTarget[] = ['double', 'string', 'int', 'bool', 'exists']

type Read = (input: unknown, path: string, depth: number) => Expression

/**
 * Reads `{"$expr": …}` from the JSON text of a query, whose numbers keep their digits; `path` is its path in the
 * request.
 */
export function parseExpressionText(text: string, path = 'query'): Expression {
  return parseExpression(parseLossless(text), path)
}

/** The same for a value that is already parsed. */
export function parseExpression(value: unknown, path = 'query'): Expression {
  const operation = onlyMember(value, path, ['$expr'])
  let nodes = 0

  const operators: Record<string, Read> = {
    $and: several('and'),
    $or: several('or'),
    $not: (input, at, depth) => ({
      op: 'not',
      operand: operand(items(input, at, 1)[0], `${at}[0]`, depth),
    }),
    $eq: comparison('eq'),
    $gt: comparison('gt'),
    $gte: comparison('gte'),
    $lt: comparison('lt'),
    $lte: comparison('lte'),
    $in: membership,
    $contains: containment,
  }
  const operands: Record<string, Read> = {
    $literal: (input, at) => ({ op: 'literal', literal: literalOf(input, at) }),
    $getField: (input, at) => ({ op: 'field', field: fieldOf(input, at) }),
    $convert: conversion(conversions),
    $size: (input, at, depth) => ({ op: 'size', input: operand(input, at, depth) }),
    ...operators,
  }
  /** What may stand alone: true or false for a row. */
  const conditions = { ...operators, $convert: conversion(['bool', 'exists']) }

  function operand(input: unknown, at: string, depth: number, accepted = operands): Expression {
    if (depth > deepest) {
      throw refuse('invalid_expression', {
        field: path,
        why: `is nested deeper than ${deepest} operators`,
        accepted: `at most ${deepest}`,
      })
    }
    if (++nodes > maxNodes) {
      throw refuse('invalid_expression', {
        field: path,
        why: `has more than ${maxNodes} operators and operands`,
        accepted: `at most ${maxNodes}; many values fit into one $in`,
      })
    }
    const [name, content] = Object.entries(onlyMember(input, at, Object.keys(accepted)))[0] as [
      string,
      unknown,
    ]
    return (accepted[name] as Read)(content, `${at}.${name}`, depth + 1)
  }

  function several(op: 'and' | 'or'): Read {
    return (input, at, depth) => {
      const list = items(input, at)
      if (list.length === 0) throw refused(at, 'is empty', 'a list of at least one operand')
      const read = list.map((item, index) => operand(item, `${at}[${index}]`, depth))
      return read.length === 1 ? (read[0] as Expression) : { op, operands: read }
    }
  }

  function comparison(by: Comparator): Read {
    return (input, at, depth) => {
      const [left, right] = items(input, at, 2)
      return {
        op: 'compare',
        by,
        left: operand(left, `${at}[0]`, depth),
        right: operand(right, `${at}[1]`, depth),
        path: at,
      }
    }
  }

  function membership(input: unknown, at: string, depth: number): Expression {
    const [sought, among] = items(input, at, 2)
    const list = items(among, `${at}[1]`)
    if (list.length > maxListLength) {
      throw refused(`${at}[1]`, `has ${list.length} values`, `at most ${maxListLength} values`)
    }
    return {
      op: 'in',
      operand: operand(sought, `${at}[0]`, depth),
      list: list.map((item, index) => listed(item, `${at}[1][${index}]`, depth)),
      path: at,
    }
  }

  /** A literal in a list costs just one parameter, so it does not count as a node. */
  function listed(item: unknown, at: string, depth: number): Expression {
    const read = operand(item, at, depth)
    if (read.op === 'literal') nodes--
    return read
  }

  function containment(input: unknown, at: string, depth: number): Expression {
    const {
      input: text,
      substr,
      case_insensitive: ignoreCase = false,
    } = members(input, at, {
      required: ['input', 'substr'],
      optional: ['case_insensitive'],
    })
    if (typeof ignoreCase !== 'boolean') {
      throw refused(`${at}.case_insensitive`, `is ${described(ignoreCase)}`, 'true or false')
    }
    const substring = operand(substr, `${at}.substr`, depth)
    if (substring.op === 'literal' && substring.literal.kind !== 'text') {
      throw refused(`${at}.substr.$literal`, `is ${substring.literal.text || 'null'}`, 'a string')
    }
    return { op: 'contains', input: operand(text, `${at}.input`, depth), substring, ignoreCase }
  }

  function conversion(targets: readonly ConversionTarget[]): Read {
    return (input, at, depth) => {
      const { input: value, to } = members(input, at, { required: ['input', 'to'], optional: [] })
      const target = targets.find((known) => known === to)
      if (target === undefined) {
        throw refused(`${at}.to`, `is ${described(to)}`, targets.map((name) => `"${name}"`).join(', '))
      }
      return { op: 'convert', input: operand(value, `${at}.input`, depth), to: target }
    }
  }

  return operand(operation.$expr, `${path}.$expr`, 1, conditions)
}

function refused(field: string, why: string, accepted: string) {
  return refuse('invalid_expression', { field, why, accepted })
}

function described(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (value instanceof JsonNumber) return short(value.token)
  if (typeof value === 'object') return 'an object'
  return short(JSON.stringify(value) ?? typeof value)
}

function short(text: string): string {
  return shortened(text, 60)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber)
  )
}

/** The value of an object that has exactly one key, which must be known. */
function onlyMember(value: unknown, at: string, known: readonly string[]): Record<string, unknown> {
  const accepted = known.length === 1 ? `{"${known[0]}": …}` : `an object with one of ${known.join(', ')}`
  if (!isObject(value)) throw refused(at, `is ${described(value)}`, accepted)
  const keys = Object.keys(value)
  if (keys.length === 0) throw refused(at, 'is an empty object', accepted)
  for (const key of keys) {
    if (!known.includes(key))
      throw refused(at, `has the unknown operator ${short(JSON.stringify(key))}`, accepted)
  }
  if (keys.length > 1) throw refused(at, `has ${keys.length} operators: ${keys.join(', ')}`, accepted)
  return value
}

function members(
  value: unknown,
  at: string,
  { required, optional }: { required: readonly string[]; optional: readonly string[] },
): Record<string, unknown> {
  const known = [...required, ...optional]
  if (!isObject(value)) throw refused(at, `is ${described(value)}`, `an object with ${known.join(', ')}`)
  for (const key of Object.keys(value)) {
    if (!known.includes(key))
      throw refused(at, `has the unknown member ${short(JSON.stringify(key))}`, known.join(', '))
  }
  for (const key of required) {
    if (!Object.hasOwn(value, key))
      throw refused(`${at}.${key}`, 'is missing', `an object with ${required.join(', ')}`)
  }
  return value
}

function items(value: unknown, at: string, count?: number): unknown[] {
  const accepted = count === undefined ? 'a list of operands' : `a list of exactly ${count}`
  if (!Array.isArray(value)) throw refused(at, `is ${described(value)}`, accepted)
  if (count !== undefined && value.length !== count)
    throw refused(at, `has ${value.length} operands`, accepted)
  return value
}

function literalOf(input: unknown, at: string): Literal {
  if (input === null) return { kind: 'null', value: null, text: '' }
  if (typeof input === 'boolean') return { kind: 'boolean', value: input, text: String(input) }
  if (typeof input === 'string') {
    const text = storableText(input)
    return { kind: 'text', value: text, text }
  }
  if (typeof input === 'number' || input instanceof JsonNumber) {
    const text = textOfNumber(input instanceof JsonNumber ? input.token : String(input))
    const value = parseNumber(text)
    if (value === null) throw refused(at, `is ${short(text)}`, 'a number in the range of a double')
    return { kind: 'number', value, text }
  }
  throw refused(at, `is ${described(input)}`, 'a string, a number, a boolean or null')
}

function fieldOf(value: unknown, at: string): string {
  if (typeof value !== 'string' || value === '')
    throw refused(at, `is ${described(value)}`, 'a path such as "inputs.name"')
  const flaw = invalidPathReason(value)
  if (flaw !== undefined) throw refused(at, flaw.why, flaw.accepted)
  return value
}
