import { fieldOf, wordOf, wordOfSaid } from './fields.ts'
import { type Filter, FilterError, type Sign } from './filter.ts'
import { writeDuration } from './quantities.ts'
import { type Expression, queryOf } from './query.ts'

const signs: Record<string, Sign> = { $eq: '=', $gt: '>', $gte: '>=', $lt: '<', $lte: '<=' }
const mirrored: Record<string, Sign> = { $eq: '=', $gt: '<', $gte: '<=', $lt: '>', $lte: '>=' }

/**
 * The filter that means this query. What the bar has no words for is refused by name, so that no text ever says less than
 * the query does: what is read back is compared with what was given.
 */
export function filterOf(query: Expression | undefined): Filter {
  if (query === undefined) return { kind: 'all', of: [] }
  const filter = read(query)
  if (JSON.stringify(normal(queryOf(filter))) !== JSON.stringify(normal(query))) {
    throw new FilterError(`The bar has no words for ${shown(query)}.`)
  }
  return filter
}

function read(query: Expression): Filter {
  const [[operator, given] = ['', undefined], ...others] = Object.entries(query)
  if (others.length > 0) throw new FilterError(`The bar has no words for ${shown(query)}.`)
  const list = () => (Array.isArray(given) ? (given as Expression[]) : [])
  switch (operator) {
    case '$and':
      return list().length === 1 ? read(list()[0] as Expression) : { kind: 'all', of: list().map(read) }
    case '$or':
      return ofOr(list())
    case '$not':
      return { kind: 'not', of: read(list()[0] as Expression) }
    case '$contains': {
      const { input, substr } = given as { input: Expression; substr: Expression }
      const field = wordOf(nameIn(input) ?? '')
      const value = literalIn(substr)
      if (typeof value !== 'string') throw new FilterError(`The bar has no words for ${shown(query)}.`)
      return { kind: 'field', field, sign: '', value, isQuoted: true }
    }
    case '$convert': {
      const name = nameIn((given as { input: Expression }).input) ?? ''
      const type = /^feedback\.\[(.+)\]\.payload$/.exec(name)?.[1]
      if (type !== undefined && type !== '*') {
        return { kind: 'field', field: 'feedback', sign: '', value: wordOfSaid(type), isQuoted: false }
      }
      const field = wordOf(name)
      return { kind: 'field', field: 'has', sign: '', value: field, isQuoted: false }
    }
    default:
      return ofComparison(operator, list(), query)
  }
}

/** Words mean inputs or output, and a score one of two places. */
function ofOr(list: readonly Expression[]): Filter {
  const read_ = list.map(read)
  const [first, second] = read_
  if (read_.length === 2 && first?.kind === 'field' && second?.kind === 'field') {
    const isSame = first.sign === second.sign && first.value === second.value
    if (isSame && first.field === 'inputs' && second.field === 'output')
      return { kind: 'words', text: first.value }
    if (isSame && second.field === `${first.field}.score` && first.field.startsWith('scores.')) return first
    if (first.field === 'has' && second.field === 'has' && second.value === `${first.value}.score`)
      return first
  }
  return read_.length === 1 ? (first as Filter) : { kind: 'any', of: read_ }
}

function ofComparison(operator: string, list: readonly Expression[], query: Expression): Filter {
  const [one, other] = list
  const isTurned = nameIn(one) === undefined
  const name = nameIn(isTurned ? other : one)
  const sign = (isTurned ? mirrored : signs)[operator]
  const literal = literalIn(isTurned ? one : other)
  if (name === undefined || sign === undefined || literal === undefined) {
    throw new FilterError(`The bar has no words for ${shown(query)}.`)
  }
  const field = wordOf(name)
  const { kind } = fieldOf(field)
  const isText = typeof literal === 'string'
  const value = kind === 'duration' && typeof literal === 'number' ? writeDuration(literal) : String(literal)
  const isPlain = kind !== 'value'
  const usual = sign === '=' && (kind === 'status' || kind === 'exact' || (!isText && kind === 'value'))
  return { kind: 'field', field, sign: usual ? '' : sign, value, isQuoted: isText && !isPlain }
}

const nameIn = (operand: Expression | undefined): string | undefined =>
  typeof operand?.$getField === 'string' ? operand.$getField : undefined

const literalIn = (operand: Expression | undefined): unknown =>
  operand !== undefined && '$literal' in operand ? operand.$literal : undefined

/** The same for queries that mean the same: a list of one is its member, and a field stands at the left. */
function normal(query: Expression | undefined): unknown {
  if (query === undefined) return undefined
  const [[operator, given] = ['', undefined]] = Object.entries(query)
  if (operator === '$and' || operator === '$or') {
    const of = (given as Expression[]).map(normal)
    return of.length === 1 ? of[0] : { [operator]: of }
  }
  if (operator === '$not') return { $not: [normal((given as Expression[])[0])] }
  if (operator === '$contains') {
    const { input, substr, case_insensitive = false } = given as Record<string, unknown>
    return { $contains: { input, substr, case_insensitive } }
  }
  if (Array.isArray(given) && nameIn(given[0]) === undefined) {
    const turned = { $gt: '$lt', $gte: '$lte', $lt: '$gt', $lte: '$gte' }[operator] ?? operator
    return { [turned]: [given[1], given[0]] }
  }
  return query
}

const shown = (query: Expression) => JSON.stringify(query).slice(0, 200)
