import { type Field, feedbackTypeOf, fieldOf } from './fields.ts'
import { type Filter, FilterError, type Sign } from './filter.ts'
import { exactNumber, readDuration, readSize, readTime } from './quantities.ts'

/** An expression of the record's query language (docs/queries.md). */
export type Expression = { readonly [operator: string]: unknown }

/** The query for a filter; undefined where every call matches. `now` is the time from which ages count. */
export function queryOf(filter: Filter, now = Date.now()): Expression | undefined {
  if (filter.kind === 'all' && filter.of.length === 0) return undefined
  return expressionOf(filter, now)
}

function expressionOf(filter: Filter, now: number): Expression {
  switch (filter.kind) {
    case 'all':
      return { $and: filter.of.map((inner) => expressionOf(inner, now)) }
    case 'any':
      return { $or: filter.of.map((inner) => expressionOf(inner, now)) }
    case 'not':
      return { $not: [expressionOf(filter.of, now)] }
    case 'words':
      return { $or: ['inputs', 'output'].map((name) => containing(name, filter.text)) }
    case 'field': {
      if (filter.field === 'has') return having(filter.value)
      if (filter.field === 'feedback') return hasFeedback(filter)
      const { names, kind } = isAnyVersion(filter)
        ? { names: ['op'], kind: 'exact' as const }
        : fieldOf(filter.field)
      return anyOf(names.map((name) => compared(name, kind, filter, now)))
    }
  }
}

/** Matches every version of a client's op, as facets name it. */
const isAnyVersion = ({ field: name, sign, value }: OfField) =>
  name === 'op' && sign === '=' && value.endsWith(':*')

const anyOf = (all: readonly Expression[]): Expression =>
  all.length === 1 ? (all[0] as Expression) : { $or: all }

const field = (name: string) => ({ $getField: name })

const containing = (name: string, text: string): Expression => ({
  $contains: { input: field(name), substr: { $literal: text }, case_insensitive: true },
})

const exists = (name: string): Expression => ({ $convert: { input: field(name), to: 'exists' } })

const having = (word: string): Expression => anyOf(fieldOf(word).names.map(exists))

function hasFeedback({ sign, value }: OfField): Expression {
  if (sign !== '' && sign !== '=') {
    throw new FilterError(`feedback takes a kind, as in feedback:note; it cannot be compared with ${sign}.`)
  }
  return exists(`feedback.[${feedbackTypeOf(value)}].payload`)
}

const operators = { '': '$eq', '=': '$eq', '>': '$gt', '>=': '$gte', '<': '$lt', '<=': '$lte' } as const

const statuses = ['success', 'error', 'running', 'descendant_error']

type OfField = Filter & { kind: 'field' }

function compared(name: string, kind: Field['kind'], condition: OfField, now: number): Expression {
  const { sign, value, isQuoted } = condition
  const compare = (literal: unknown, by: Sign = sign) => ({
    [operators[by]]: [field(name), { $literal: literal }],
  })
  switch (kind) {
    case 'status':
      if (!statuses.includes(value))
        throw new FilterError(`${value} is not a status: ${statuses.join(', ')}.`)
      return compare(value)
    case 'duration':
      return compare(readDuration(value))
    case 'size':
      return compare(readSize(value))
    case 'time':
      return compare(readTime(value))
    case 'age': {
      if (sign === '' || sign === '=') throw new FilterError(`age needs < or >: age:<${value}`)
      const turned = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const
      return compare(new Date(now - readDuration(value)).toISOString(), turned[sign])
    }
    case 'part':
      return sign === '' ? containing(name, value) : compare(value)
    case 'exact':
      return compare(value)
    case 'cost':
    case 'number': {
      const number = exactNumber(kind === 'cost' ? value.replace(/^\$/, '') : value)
      if (number === undefined)
        throw new FilterError(
          `${name} takes a number such as ${kind === 'cost' ? '0.01' : '500'}, not ${value}.`,
        )
      return compare(number)
    }
    default: {
      if (isQuoted) return sign === '' ? containing(name, value) : compare(value)
      if (value === 'null' && (sign === '' || sign === '=')) return compare(null)
      if ((value === 'true' || value === 'false') && (sign === '' || sign === '='))
        return compare(value === 'true')
      const number = exactNumber(value)
      if (number !== undefined) return compare(number)
      // Values whose digits a JavaScript number would lose are compared as text.
      if (/^-?\d+(?:\.\d+)?$/.test(value)) {
        if (sign === '' || sign === '=') return compare(value)
        throw new FilterError(`${value} has too many digits to compare with ${sign}.`)
      }
      return sign === '' ? containing(name, value) : compare(value)
    }
  }
}
