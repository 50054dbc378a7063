import { described, feedbackWordOf } from './fields.ts'
import { type Filter, FilterError, type Sign } from './filter.ts'
import { quantityTexts } from './quantities.ts'
import { queryOf } from './query.ts'
import { readFilter, writeFilter } from './text.ts'

/** Deeper queries were not typed. */
const maxDepth = 20

/**
 * The filter that means this query of the record; undefined where none does. Single conditions are guessed and tried: what
 * is found means the same, whatever was guessed.
 */
export function filterOf(query: unknown, depth = 0): Filter | undefined {
  const condition = conditionsLike(query).find((guess) => hasMeaning(guess, query))
  if (condition || depth > maxDepth) return condition
  const [operator, operands] = onlyMember(query)
  if (!Array.isArray(operands)) return undefined
  const of = operands.flatMap((operand) => filterOf(operand, depth + 1) ?? [])
  const [first] = of
  if (first === undefined || of.length < operands.length) return undefined
  if (operator === '$not' && of.length === 1) return { kind: 'not', of: first }
  if (operator !== '$and' && operator !== '$or') return undefined
  return of.length === 1 ? first : { kind: operator === '$and' ? 'all' : 'any', of }
}

function hasMeaning(guess: Filter, query: unknown): boolean {
  try {
    return sorted(queryOf(readFilter(writeFilter(guess)))) === sorted(query)
  } catch (error) {
    if (error instanceof FilterError) return false
    throw error
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const sorted = (value: unknown) =>
  JSON.stringify(value, (_, inner) =>
    isRecord(inner) ? Object.fromEntries(Object.entries(inner).sort()) : inner,
  )

function onlyMember(value: unknown): [name?: string, value?: unknown] {
  const [member, ...others] = isRecord(value) ? Object.entries(value) : []
  return member && others.length === 0 ? member : []
}

const signs: Record<string, readonly Sign[]> = {
  $contains: [''],
  $convert: [''],
  $eq: ['', '='],
  $gt: ['>'],
  $gte: ['>='],
  $lt: ['<'],
  $lte: ['<='],
}

/** The single conditions that may mean the query. */
function conditionsLike(query: unknown): Filter[] {
  const [outer, inners] = onlyMember(query)
  // One word is a condition on several fields.
  const [operator = '', operands] = onlyMember(outer === '$or' && Array.isArray(inners) ? inners[0] : query)
  const [input, literal] = Array.isArray(operands)
    ? operands
    : isRecord(operands)
      ? [operands.input, operands.substr]
      : []
  const [, name] = onlyMember(input)
  const [, value] = onlyMember(literal)
  if (typeof name !== 'string' || (typeof value === 'object' && value !== null)) return []
  const fields = fieldsNamed(name)
  if (operator === '$convert') {
    const type = /^feedback\.\[(.+)\]\.payload$/.exec(name)?.[1] ?? ''
    const having = fields.map((field) => ['has', field] as const)
    return [['feedback', feedbackWordOf(type)] as const, ...having].map(([field, word]) => ({
      ...{ kind: 'field', field, sign: '', value: word, isQuoted: false },
    }))
  }
  const texts = [...(typeof value === 'number' ? quantityTexts(value) : []), String(value)]
  return [
    { kind: 'words', text: String(value) },
    ...fields.flatMap((field) =>
      (signs[operator] ?? []).flatMap((sign) =>
        texts.flatMap((text) =>
          [false, true].map((isQuoted): Filter => ({ kind: 'field', field, sign, value: text, isQuoted })),
        ),
      ),
    ),
  ]
}

/** The names in the filter bar that may stand for a field of the record. */
function fieldsNamed(name: string): string[] {
  const [, score, path = ''] =
    /^feedback\.\[wandb\.runnable\.(.+)\]\.payload\.output(\..+)?$/.exec(name) ?? []
  const [, question] = /^feedback\.\[wandb\.annotation\.(.+)\]\.payload\.value$/.exec(name) ?? []
  return [
    ...described.filter((field) => field.name === name).map(({ field }) => field),
    ...(score === undefined ? [] : [`scores.${score.replace(/[.\\]/g, '\\$&')}${path}`]),
    ...(question === undefined ? [] : [`annotation.${question}`]),
    // Every version of an op is a field that is never typed.
    ...(name === 'op' ? ['op'] : [name]),
  ]
}
