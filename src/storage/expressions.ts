import type { Comparator, Expression } from '../domain/expressions/expression.ts'
import {
  type ComparisonKind,
  comparisonKind,
  standingOf,
  timeOfLiteral,
} from '../domain/expressions/kinds.ts'
import { parseNumber } from '../domain/expressions/numbers.ts'
import { refuse } from '../domain/refusals.ts'
import type { Dialect } from './dialect.ts'
import { join, type Sql, sql, trusted } from './sql.ts'

/**
 * Where a field is read. The SQL of a text compares by code point: columns do, and what is put together from other text
 * goes through `dialect.ordered`. A time is integer microseconds.
 */
export type FieldReading =
  | { kind: 'text' | 'number' | 'time'; sql: Sql }
  | { kind: 'json'; column: Sql; path: readonly string[] }

/** Throws unknown_field for what is none. */
export type FieldResolver = (field: string) => FieldReading

/** A condition for WHERE, in parentheses. Means what domain/expressions/evaluate.ts means. */
export function compileCondition(expression: Expression, resolve: FieldResolver, dialect: Dialect): Sql {
  const condition = new Compiler(resolve, dialect).boolean(expression)
  if (condition.values.length <= mostValues) return condition
  throw refuse('invalid_expression', {
    field: 'query',
    why: `needs ${condition.values.length} parameters for its values and paths`,
    accepted: `at most ${mostValues}`,
  })
}

/** Terms of ORDER BY: values that exist, numbers before text, and what is missing last in both directions. */
export function compileOrder(reading: FieldReading, direction: 'asc' | 'desc', dialect: Dialect): Sql[] {
  const way = trusted(direction === 'asc' ? 'ASC NULLS LAST' : 'DESC NULLS LAST')
  if (reading.kind !== 'json') return [sql`${reading.sql} ${way}`]
  const { exists, number, text } = dialect.json(reading.column, reading.path)
  return [sql`${exists} DESC`, sql`${number} ${way}`, sql`${text} ${way}`]
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
const mostValues = 30_000
const mostSteps = 2_000

class Compiler {
  readonly #resolve: FieldResolver
  readonly #dialect: Dialect
  readonly #readings = new Map<string, FieldReading>()
  #steps = 0

  constructor(resolve: FieldResolver, dialect: Dialect) {
    this.#resolve = resolve
    this.#dialect = dialect
  }

  boolean(expression: Expression): Sql {
    switch (expression.op) {
      case 'and':
        return joined(
          expression.operands.map((operand) => this.boolean(operand)),
          ' AND ',
        )
      case 'or':
        return joined(
          expression.operands.map((operand) => this.boolean(operand)),
          ' OR ',
        )
      case 'not':
        return sql`(NOT ${this.boolean(expression.operand)})`
      case 'compare':
        return this.#comparison(expression)
      case 'in':
        return this.#membership(expression)
      case 'contains':
        return this.#containment(expression)
      case 'literal':
        return booleanLiteral(expression.literal.text)
      case 'convert':
        if (expression.to === 'exists') return this.#exists(expression.input)
        if (expression.to === 'bool') return this.boolean(expression.input)
        if (expression.to === 'string') return booleanOfText(this.#text(expression))
        return booleanOfNumber(this.#number(expression))
      case 'field': {
        const reading = this.#reading(expression.field)
        if (reading.kind === 'number') return booleanOfNumber(reading.sql)
        return reading.kind === 'time' ? unknownBoolean : booleanOfText(this.#text(expression))
      }
    }
  }

  #text(expression: Expression): Sql {
    const dialect = this.#dialect
    switch (expression.op) {
      case 'literal':
        return expression.literal.kind === 'null' ? unknownText : dialect.text(expression.literal.text)
      case 'field': {
        const reading = this.#reading(expression.field)
        if (reading.kind === 'json') return dialect.json(reading.column, reading.path).text
        if (reading.kind === 'text') return reading.sql
        return reading.kind === 'number' ? dialect.numberText(reading.sql) : dialect.timeText(reading.sql)
      }
      case 'convert':
        if (expression.to === 'string') return this.#text(expression.input)
        if (expression.to === 'double' || expression.to === 'int')
          return dialect.numberText(this.#number(expression))
    }
    const value = this.boolean(expression)
    return dialect.ordered(sql`CASE ${value} WHEN TRUE THEN 'true' WHEN FALSE THEN 'false' END`)
  }

  #number(expression: Expression): Sql {
    const dialect = this.#dialect
    switch (expression.op) {
      case 'literal': {
        const number = parseNumber(expression.literal.text)
        return number === null ? unknownNumber : dialect.number(number)
      }
      case 'field': {
        const reading = this.#reading(expression.field)
        if (reading.kind === 'json') return dialect.json(reading.column, reading.path).number
        if (reading.kind === 'number') return dialect.columnNumber(reading.sql)
        return reading.kind === 'time' ? dialect.timeNumber(reading.sql) : dialect.textNumber(reading.sql)
      }
      case 'convert':
        if (expression.to === 'double') return this.#number(expression.input)
        if (expression.to === 'int') return this.#whole(expression.input)
        if (expression.to === 'string') return dialect.textNumber(this.#text(expression.input))
    }
    // A truth value is no number, whatever it is; what is wrong inside it is refused all the same.
    this.boolean(expression)
    return unknownNumber
  }

  #whole(input: Expression): Sql {
    const time = this.#timeColumn(input)
    if (time === undefined) return this.#dialect.textWhole(this.#text(input))
    return sql`CASE WHEN ${time} % 1000000 = 0 THEN ${time} / 1000000 END`
  }

  #time(expression: Expression, place: string): Sql {
    if (expression.op === 'literal') return sql`${timeOfLiteral(expression.literal, place)}`
    const time = this.#timeColumn(expression)
    if (time === undefined) throw new TypeError(`${expression.op} is never compared as a time`)
    return time
  }

  #exists(expression: Expression): Sql {
    if (expression.op === 'literal') return trusted(expression.literal.kind === 'null' ? 'FALSE' : 'TRUE')
    const reading = expression.op === 'field' ? this.#reading(expression.field) : undefined
    if (reading?.kind === 'json') return this.#dialect.json(reading.column, reading.path).exists
    return sql`(${reading?.sql ?? this.#native(expression)} IS NOT NULL)`
  }

  /** A computed value as what it is. */
  #native(expression: Expression): Sql {
    const { kind } = standingOf(expression, this.#kindOfField)
    if (kind === 'number') return this.#number(expression)
    return kind === 'text' ? this.#text(expression) : this.boolean(expression)
  }

  #comparison({ by, left, right, place }: Extract<Expression, { op: 'compare' }>): Sql {
    this.#countStep(place)
    const kind = this.#comparedAs(left, right)
    if (kind === 'null') {
      const other = this.#isNull(isNullLiteral(left) ? right : left)
      return by === 'eq' ? other : unknownBoolean
    }
    return sql`(${this.#side(kind, left, right, place)} ${operators[by]} ${this.#side(kind, right, left, place)})`
  }

  #isNull(expression: Expression): Sql {
    return sql`(NOT ${this.#exists(expression)})`
  }

  #comparedAs(left: Expression, right: Expression): ComparisonKind {
    return comparisonKind(standingOf(left, this.#kindOfField), standingOf(right, this.#kindOfField))
  }

  #side(
    kind: Exclude<ComparisonKind, 'null'>,
    expression: Expression,
    other: Expression,
    place: string,
  ): Sql {
    switch (kind) {
      case 'text':
        return this.#textBeside(expression, other)
      case 'number':
        return this.#numberBeside(expression, other)
      case 'boolean':
        return this.boolean(expression)
      case 'time':
        return this.#time(expression, place)
    }
  }

  /** Next to a column a bare parameter takes the column's type and collation, so that its index is used. */
  #textBeside(expression: Expression, other: Expression): Sql {
    if (expression.op !== 'literal' || other.op !== 'field') return this.#text(expression)
    return this.#reading(other.field).kind === 'text'
      ? sql`${expression.literal.text}`
      : this.#text(expression)
  }

  /** A column as it is, so that its index is used, unless the constant is a number that a column of doubles would round. */
  #numberBeside(expression: Expression, other: Expression): Sql {
    if (expression.op === 'field' && other.op === 'literal') {
      const reading = this.#reading(expression.field)
      if (reading.kind === 'number' && !isBeyondDoubles(other)) return reading.sql
    }
    return this.#number(expression)
  }

  /** Constants are grouped by what the operand is compared as, so that a list of them is one IN. */
  #membership({ operand, list, place }: Extract<Expression, { op: 'in' }>): Sql {
    const conditions: Sql[] = []
    const constants = Map.groupBy(list, (option) =>
      option.op === 'literal' && !isNullLiteral(operand) ? this.#comparedAs(operand, option) : 'one by one',
    )
    for (const option of constants.get('one by one') ?? []) {
      conditions.push(this.#comparison({ op: 'compare', by: 'eq', left: operand, right: option, place }))
    }
    for (const kind of ['text', 'number', 'boolean', 'time'] as const) {
      const options = constants.get(kind)
      if (options?.[0] === undefined) continue
      this.#countStep(place)
      const sought = this.#side(kind, operand, options.find(isBeyondDoubles) ?? options[0], place)
      const values = options.map((option) => this.#side(kind, option, operand, place))
      conditions.push(sql`(${sought} IN (${join(padded(values), ', ')}))`)
    }
    if (constants.has('null')) {
      this.#countStep(place)
      conditions.push(this.#isNull(operand))
    }
    if (conditions.length > 0) return joined(conditions, ' OR ')
    this.#exists(operand)
    return trusted('(1 = 0)')
  }

  #containment({ input, part, ignoreCase }: Extract<Expression, { op: 'contains' }>): Sql {
    const { lower, position } = this.#dialect
    const [text, sought] = [this.#text(input), this.#text(part)]
    return sql`(${ignoreCase ? position(lower(text), lower(sought)) : position(text, sought)} > 0)`
  }

  /** An operand of $in may stand in the statement several times, each with another $in inside it. */
  #countStep(place: string): void {
    if (++this.#steps <= mostSteps) return
    throw refuse('invalid_expression', {
      field: place,
      why: 'needs too many comparisons, with $in inside of $in',
      accepted: `at most ${mostSteps} comparisons`,
    })
  }

  #timeColumn(expression: Expression): Sql | undefined {
    if (expression.op !== 'field') return undefined
    const reading = this.#reading(expression.field)
    return reading.kind === 'time' ? reading.sql : undefined
  }

  readonly #kindOfField = (field: string) => this.#reading(field).kind

  #reading(field: string): FieldReading {
    const known = this.#readings.get(field)
    if (known !== undefined) return known
    const reading = this.#resolve(field)
    this.#readings.set(field, reading)
    return reading
  }
}

/** Halves of halves, because SQLite bounds how deep an expression is and a chain is as deep as it is long. */
function joined(conditions: readonly Sql[], operator: ' AND ' | ' OR '): Sql {
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
  const value = { true: 1, '1': 1, false: 0, '0': 0 }[text]
  return value === undefined ? unknownBoolean : sql`(${value} <> 0)`
}

/** The length is rounded up by repeating the last value, so that few statements are prepared. */
function padded(values: readonly Sql[]): Sql[] {
  const list = [...values]
  while (list.length & (list.length - 1)) list.push(values.at(-1) as Sql)
  return list
}
