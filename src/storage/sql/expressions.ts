import { type Comparator, type Expression, fieldsOf } from '../../domain/expressions/expression.ts'
import {
  type ComparisonKind,
  comparisonKind,
  standingOf,
  timeOfLiteral,
} from '../../domain/expressions/kinds.ts'
import { parseNumber } from '../../domain/expressions/numbers.ts'
import { refuse } from '../../domain/refusals.ts'
import { parseBoolean } from '../../domain/text.ts'
import type { Dialect, JsonReading } from './dialect.ts'
import { join, nothing, type Sql, sql, trusted } from './sql.ts'

/**
 * Where a field is read. The SQL of a text compares by code point: columns do, and what is put together from other text
 * goes through `dialect.ordered`. A time is integer microseconds.
 */
export type FieldReading =
  | PlainReading
  | {
      kind: 'json'
      column: Sql
      path: readonly string[]
      /** The bytes that the column can hold, where to ask for its length is to look it up once more. */
      most?: number
      /** What it is a part of, where to ask for the length of that costs less. */
      within?: Sql
      /** The same number, and the number 1 or 0 of a truth value, where they can be read for less. */
      known?: { number: Sql; truth: Sql }
    }

/** `document` is the column that is read for it, when that may be large. */
export interface PlainReading {
  kind: 'text' | 'number' | 'time'
  sql: Sql
  document?: Sql
}

/** Throws unknown_field for what is none. */
export type FieldResolver = (field: string) => FieldReading

/**
 * A condition for WHERE, in parentheses. Means what domain/expressions/evaluate.ts means. What has to hold besides and
 * reads no document stays a condition of its own, so that its index is used.
 */
export function compileCondition(expression: Expression, resolve: FieldResolver, dialect: Dialect): Sql {
  const readings = new Map<string, FieldReading>()
  const once: FieldResolver = (field) => {
    const reading = readings.get(field) ?? resolve(field)
    readings.set(field, reading)
    return reading
  }
  const readsDocument = (part: Expression) => fieldsOf(part).map(once).some(isOfDocument)
  const parts = allHolding(expression)
  const ofDocuments = new Set(parts.filter(readsDocument))
  boundReadings([...readings.values()])
  const judged: Expression[] = []
  const compiled: Sql[] = []
  for (const part of parts) {
    const condition = ofDocuments.has(part)
      ? withoutDocuments(part, once, dialect)
      : createCompiler(once, dialect)(part)
    if (condition === undefined) judged.push(part)
    else compiled.push(condition)
  }
  const [only, ...others] = judged
  if (only !== undefined) {
    const together: Expression = others.length === 0 ? only : { op: 'and', operands: judged }
    compiled.push(
      dialect.judged({
        expression: together,
        readings: new Map(fieldsOf(together).map((field) => [field, once(field)])),
        compile: (own) => createCompiler(once, own)(together),
      }),
    )
  }
  const condition = joined(compiled, ' AND ')
  if (condition.values.length <= mostValues) return condition
  throw refuse('invalid_expression', {
    field: 'query',
    why: `needs ${condition.values.length} parameters for its values and paths`,
    accepted: `at most ${mostValues}`,
  })
}

/** Undefined when a document has to be read after all: what is known of it was not enough. */
function withoutDocuments(part: Expression, resolve: FieldResolver, dialect: Dialect): Sql | undefined {
  const isKnown = (reading: FieldReading) => reading.kind === 'json' && reading.known !== undefined
  if (!fieldsOf(part).map(resolve).filter(isOfDocument).every(isKnown)) return undefined
  let isRead = false
  const own: Dialect = {
    ...dialect,
    json(...given) {
      isRead = true
      return dialect.json(...given)
    },
  }
  const condition = createCompiler(resolve, own)(part)
  return isRead ? undefined : condition
}

function allHolding(expression: Expression): Expression[] {
  return expression.op === 'and' ? expression.operands.flatMap(allHolding) : [expression]
}

function isOfDocument(reading: FieldReading): boolean {
  return reading.kind === 'json' || reading.document !== undefined
}

/** A value and what it lies in are held at once, each as a text of its own. */
const mostAround = 4

/** What is looked up for each row, such as its feedback. */
const mostLookups = 32

function boundReadings(readings: readonly FieldReading[], place = 'query'): void {
  const ofJson = readings.filter((reading) => reading.kind === 'json')
  const lookups = ofJson.filter(({ most }) => most !== undefined).length
  if (lookups > mostLookups) {
    throw refuse('invalid_value', {
      field: place,
      given: `${lookups} fields of feedback`,
      accepted: `at most ${mostLookups}`,
    })
  }
  const keyOf = ({ text, values }: Sql, path: readonly string[]) => JSON.stringify([text, values, path])
  const known = new Set(ofJson.map(({ column, path }) => keyOf(column, path)))
  for (const { column, path } of ofJson) {
    const around = path.filter((_, steps) => known.has(keyOf(column, path.slice(0, steps)))).length
    if (around <= mostAround) continue
    throw refuse('invalid_value', {
      field: place,
      given: `a field that lies in ${around} others which are read too`,
      accepted: `at most ${mostAround}`,
    })
  }
}

/** A text sorts by so much of it: what is sorted is kept until the last row is known. */
const sortedCharacters = 1_024

/** Terms of ORDER BY: values that exist, numbers before text, and what is missing last in both directions. */
export function compileOrder(reading: FieldReading, direction: 'asc' | 'desc', dialect: Dialect): Sql[] {
  const way = trusted(direction === 'asc' ? 'ASC NULLS LAST' : 'DESC NULLS LAST')
  if (reading.kind !== 'json') return [sql`${reading.sql} ${way}`]
  const { exists, number, text } = dialect.json(reading.column, reading.path, reading.most)
  const start = sql`substr(${text}, 1, ${trusted(String(sortedCharacters))})`
  return [sql`${exists} DESC`, sql`${number} ${way}`, sql`${start} ${way}`]
}

export interface Sort {
  reading: FieldReading
  direction: 'asc' | 'desc'
}

/** What ORDER BY sorts by. */
export interface Sorting {
  order: readonly Sql[]
  /** What has to stand behind FROM for it. */
  source?: Sql
}

/** What is equal by a field is equal by the same field once more. */
export function firstOfEach<T extends { field: string }>(sorts: readonly T[]): T[] {
  return sorts.filter(({ field }, index) => sorts.findIndex((other) => other.field === field) === index)
}

export function compileSorting(sorts: readonly Sort[], dialect: Dialect): Sorting {
  const readings = sorts.map(({ reading }) => reading)
  boundReadings(readings, 'sort_by')
  const compile = (own: Dialect) =>
    sorts.flatMap(({ reading, direction }) => compileOrder(reading, direction, own))
  return readings.some(({ kind }) => kind === 'json')
    ? dialect.sorting(compile)
    : { order: compile(dialect), source: nothing }
}

const operators: Record<Comparator, Sql> = {
  eq: trusted('='),
  gt: trusted('>'),
  gte: trusted('>='),
  lt: trusted('<'),
  lte: trusted('<='),
}

const unknownText = trusted('CAST(NULL AS TEXT)')
const unknownNumber = trusted('CAST(NULL AS NUMERIC)')
const unknownBoolean = trusted('CAST(NULL AS BOOLEAN)')

/** SQLite takes 32,766 parameters in a statement, of which the rest of it needs a few. */
export const mostValues = 30_000
const mostSteps = 2_000

/** Answers what reads an expression as a condition. */
function createCompiler(resolve: FieldResolver, dialect: Dialect): (expression: Expression) => Sql {
  let steps = 0
  const kindOfField = (field: string) => resolve(field).kind

  function asBoolean(expression: Expression): Sql {
    switch (expression.op) {
      case 'and':
        return joined(expression.operands.map(asBoolean), ' AND ')
      case 'or':
        return joined(expression.operands.map(asBoolean), ' OR ')
      case 'not':
        return sql`(NOT ${asBoolean(expression.operand)})`
      case 'compare':
        return comparison(expression)
      case 'in':
        return membership(expression)
      case 'contains':
        return containment(expression)
      case 'literal':
        return booleanLiteral(expression.literal.text)
      case 'convert':
        if (expression.to === 'exists') return exists(expression.input)
        if (expression.to === 'bool') return asBoolean(expression.input)
        if (expression.to === 'string') return booleanOfText(asText(expression))
        return booleanOfNumber(asNumber(expression))
      case 'field': {
        const reading = resolve(expression.field)
        if (reading.kind === 'number') return booleanOfNumber(reading.sql)
        if (reading.kind === 'json' && reading.known) return booleanOfNumber(reading.known.truth)
        return reading.kind === 'time' ? unknownBoolean : booleanOfText(asText(expression))
      }
    }
  }

  function textOf({ sql: text, document }: PlainReading): Sql {
    return document === undefined ? text : dialect.longText(text)
  }

  function asText(expression: Expression): Sql {
    switch (expression.op) {
      case 'literal':
        return expression.literal.kind === 'null' ? unknownText : dialect.text(expression.literal.text)
      case 'field': {
        const reading = resolve(expression.field)
        if (reading.kind === 'json') return dialect.json(reading.column, reading.path, reading.most).text
        if (reading.kind === 'text') return textOf(reading)
        return reading.kind === 'number' ? dialect.numberText(reading.sql) : dialect.timeText(reading.sql)
      }
      case 'convert':
        if (expression.to === 'string') return asText(expression.input)
        if (expression.to === 'double' || expression.to === 'int')
          return dialect.numberText(asNumber(expression))
    }
    const value = asBoolean(expression)
    return dialect.ordered(sql`CASE ${value} WHEN TRUE THEN 'true' WHEN FALSE THEN 'false' END`)
  }

  function asNumber(expression: Expression): Sql {
    switch (expression.op) {
      case 'literal': {
        const number = parseNumber(expression.literal.text)
        return number === null ? unknownNumber : dialect.number(number)
      }
      case 'field': {
        const reading = resolve(expression.field)
        if (reading.kind === 'json') {
          return reading.known?.number ?? dialect.json(reading.column, reading.path, reading.most).number
        }
        if (reading.kind === 'number') return dialect.columnNumber(reading.sql)
        return reading.kind === 'time' ? dialect.timeNumber(reading.sql) : dialect.textNumber(textOf(reading))
      }
      case 'convert':
        if (expression.to === 'double') return asNumber(expression.input)
        if (expression.to === 'int') return asWhole(expression.input)
        if (expression.to === 'string') return dialect.textNumber(asText(expression.input))
    }
    // A truth value is no number, whatever it is; what is wrong inside it is refused all the same.
    asBoolean(expression)
    return unknownNumber
  }

  function asWhole(input: Expression): Sql {
    const time = timeColumn(input)
    if (time === undefined) return dialect.textWhole(asText(input))
    return sql`CASE WHEN ${time} % 1000000 = 0 THEN ${time} / 1000000 END`
  }

  function asTime(expression: Expression, place: string): Sql {
    if (expression.op === 'literal') return sql`${timeOfLiteral(expression.literal, place)}`
    const time = timeColumn(expression)
    if (time === undefined) throw new TypeError(`${expression.op} is never compared as a time`)
    return time
  }

  function exists(expression: Expression): Sql {
    const document = documentOf(expression)
    return document?.exists ?? sql`(${asItself(expression)} IS NOT NULL)`
  }

  function isNull(expression: Expression): Sql {
    const document = documentOf(expression)
    return document ? sql`(NOT ${document.exists})` : sql`(${asItself(expression)} IS NULL)`
  }

  function documentOf(expression: Expression): JsonReading | undefined {
    if (expression.op !== 'field') return undefined
    const reading = resolve(expression.field)
    return reading.kind === 'json' ? dialect.json(reading.column, reading.path, reading.most) : undefined
  }

  /** A value as what it is, without reading it as anything else. */
  function asItself(expression: Expression): Sql {
    if (expression.op === 'field') {
      const reading = resolve(expression.field)
      if (reading.kind !== 'json') return textOf(reading)
    }
    const { kind } = standingOf(expression, kindOfField)
    if (kind === 'number') return asNumber(expression)
    return kind === 'boolean' ? asBoolean(expression) : asText(expression)
  }

  function comparison({ by, left, right, place }: Extract<Expression, { op: 'compare' }>): Sql {
    countStep(place)
    const kind = comparedAs(left, right)
    if (kind === 'null') {
      const other = isNull(isNullLiteral(left) ? right : left)
      return by === 'eq' ? other : unknownBoolean
    }
    return sql`(${side(kind, left, right, place)} ${operators[by]} ${side(kind, right, left, place)})`
  }

  function comparedAs(left: Expression, right: Expression): ComparisonKind {
    return comparisonKind(standingOf(left, kindOfField), standingOf(right, kindOfField))
  }

  function side(
    kind: Exclude<ComparisonKind, 'null'>,
    expression: Expression,
    other: Expression,
    place: string,
  ): Sql {
    switch (kind) {
      case 'text':
        return textBeside(expression, other)
      case 'number':
        return numberBeside(expression, other)
      case 'boolean':
        return asBoolean(expression)
      case 'time':
        return asTime(expression, place)
    }
  }

  /** Next to a column a bare parameter takes the column's type and collation, so that its index is used. */
  function textBeside(expression: Expression, other: Expression): Sql {
    if (expression.op !== 'literal' || other.op !== 'field') return asText(expression)
    return resolve(other.field).kind === 'text' ? sql`${expression.literal.text}` : asText(expression)
  }

  /** A column as it is, so that its index is used, unless the constant is a number that a column of doubles would round. */
  function numberBeside(expression: Expression, other: Expression): Sql {
    if (expression.op === 'field' && other.op === 'literal') {
      const reading = resolve(expression.field)
      if (reading.kind === 'number' && !isBeyondDoubles(other)) return reading.sql
    }
    return asNumber(expression)
  }

  /** Constants are grouped by what the operand is compared as, so that a list of them is one IN. */
  function membership({ operand, list, place }: Extract<Expression, { op: 'in' }>): Sql {
    const conditions: Sql[] = []
    const constants = Map.groupBy(list, (option) =>
      option.op === 'literal' && !isNullLiteral(operand) ? comparedAs(operand, option) : 'one by one',
    )
    for (const option of constants.get('one by one') ?? []) {
      conditions.push(comparison({ op: 'compare', by: 'eq', left: operand, right: option, place }))
    }
    for (const kind of ['text', 'number', 'boolean', 'time'] as const) {
      const options = constants.get(kind)
      if (options?.[0] === undefined) continue
      countStep(place)
      const sought = side(kind, operand, options.find(isBeyondDoubles) ?? options[0], place)
      const values = options.map((option) => side(kind, option, operand, place))
      conditions.push(sql`(${sought} IN (${join(padded(values), ', ')}))`)
    }
    if (constants.has('null')) {
      countStep(place)
      conditions.push(isNull(operand))
    }
    if (conditions.length > 0) return joined(conditions, ' OR ')
    exists(operand)
    return trusted('(1 = 0)')
  }

  function containment({ input, part, ignoreCase }: Extract<Expression, { op: 'contains' }>): Sql {
    const folded = (text: Sql) => (ignoreCase ? dialect.lower(text) : text)
    return sql`(${dialect.position(folded(asText(input)), folded(asText(part)))} > 0)`
  }

  /** An operand of $in may stand in the statement several times, each with another $in inside it. */
  function countStep(place: string): void {
    if (++steps <= mostSteps) return
    throw refuse('invalid_expression', {
      field: place,
      why: 'needs too many comparisons, with $in inside of $in',
      accepted: `at most ${mostSteps} comparisons`,
    })
  }

  function timeColumn(expression: Expression): Sql | undefined {
    if (expression.op !== 'field') return undefined
    const reading = resolve(expression.field)
    return reading.kind === 'time' ? reading.sql : undefined
  }

  return asBoolean
}

/** Halves of halves, because SQLite bounds how deep an expression is and a chain is as deep as it is long. */
export function joined(conditions: readonly Sql[], operator: ' AND ' | ' OR '): Sql {
  const [only] = conditions
  if (only !== undefined && conditions.length === 1) return only
  const middle = Math.ceil(conditions.length / 2)
  const halves = [conditions.slice(0, middle), conditions.slice(middle)]
  return sql`(${join(
    halves.map((half) => joined(half, operator)),
    operator,
  )})`
}

function isBeyondDoubles(expression: Expression): boolean {
  const number = expression.op === 'literal' ? parseNumber(expression.literal.text) : null
  return typeof number === 'bigint' && !Number.isSafeInteger(Number(number))
}

function isNullLiteral(expression: Expression): boolean {
  return expression.op === 'literal' && expression.literal.kind === 'null'
}

function booleanOfText(text: Sql): Sql {
  return sql`(CASE ${text} WHEN 'true' THEN TRUE WHEN '1' THEN TRUE WHEN 'false' THEN FALSE WHEN '0' THEN FALSE END)`
}

function booleanOfNumber(number: Sql): Sql {
  return sql`(CASE ${number} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END)`
}

function booleanLiteral(text: string): Sql {
  const value = parseBoolean(text)
  return value === null ? unknownBoolean : sql`(${Number(value)} <> 0)`
}

/** The length is rounded up by repeating the last value, so that few statements are prepared. */
function padded(values: readonly Sql[]): Sql[] {
  const list = [...values]
  while (list.length & (list.length - 1)) list.push(values.at(-1) as Sql)
  return list
}
