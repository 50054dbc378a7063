import type { Comparator, Expression } from '../../domain/expressions/expression.ts'
import {
  type ComparisonKind,
  comparisonKind,
  operandOf,
  timeOfLiteral,
} from '../../domain/expressions/kinds.ts'
import { parseNumber } from '../../domain/expressions/numbers.ts'
import { refuse } from '../../domain/refusals.ts'
import { parseBoolean } from '../../domain/text.ts'
import type { Dialect, JsonReading } from './dialect.ts'
import type { FieldResolver, PlainReading } from './readings.ts'
import { join, joined, padToPowerOfTwo, rawSql, type Sql, sql } from './sql.ts'

const operators: Record<Comparator, Sql> = {
  eq: rawSql('='),
  gt: rawSql('>'),
  gte: rawSql('>='),
  lt: rawSql('<'),
  lte: rawSql('<='),
}

const unknownText = rawSql('CAST(NULL AS TEXT)')
const unknownNumber = rawSql('CAST(NULL AS NUMERIC)')
const unknownBoolean = rawSql('CAST(NULL AS BOOLEAN)')

const maxSteps = 2_000

/**
 * Returns a function that compiles an expression to a condition. It means the same as in
 * domain/expressions/evaluate.ts.
 */
export function createCompiler(resolve: FieldResolver, dialect: Dialect): (expression: Expression) => Sql {
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
      case 'size':
        return booleanOfNumber(asNumber(expression))
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
        break
      case 'size':
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
          if (reading.known) return reading.known.number
          const document = dialect.json(reading.column, reading.path, reading.most)
          return reading.countsTruth ? truthAsNumber(document) : document.number
        }
        if (reading.kind === 'number') return dialect.columnNumber(reading.sql)
        return reading.kind === 'time' ? dialect.timeNumber(reading.sql) : dialect.textNumber(textOf(reading))
      }
      case 'convert':
        if (expression.to === 'double') return asNumber(expression.input)
        if (expression.to === 'int') return asWhole(expression.input)
        if (expression.to === 'string') return dialect.textNumber(asText(expression.input))
        break
      case 'size': {
        const list = documentOf(expression.input)
        if (list !== undefined) return list.size
        exists(expression.input)
        return unknownNumber
      }
    }
    // A boolean is never a number, whatever its value; errors inside the expression are still refused.
    asBoolean(expression)
    return unknownNumber
  }

  function asWhole(input: Expression): Sql {
    const time = timeColumn(input)
    if (time === undefined) {
      const text = asText(input)
      const number = dialect.textWhole(text)
      return countsTruth(input) ? truthAsNumber({ text, number }) : number
    }
    return sql`CASE WHEN ${time} % 1000000 = 0 THEN ${time} / 1000000 END`
  }

  function countsTruth(expression: Expression): boolean {
    if (expression.op !== 'field') return false
    const reading = resolve(expression.field)
    return reading.kind === 'json' && reading.countsTruth === true
  }

  function asTime(expression: Expression, path: string): Sql {
    if (expression.op === 'literal') return sql`${timeOfLiteral(expression.literal, path)}`
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

  /** A value in its own type, without conversion. */
  function asItself(expression: Expression): Sql {
    if (expression.op === 'field') {
      const reading = resolve(expression.field)
      if (reading.kind !== 'json') return textOf(reading)
    }
    const { kind } = operandOf(expression, kindOfField)
    if (kind === 'number') return asNumber(expression)
    return kind === 'boolean' ? asBoolean(expression) : asText(expression)
  }

  function comparison({ by, left, right, path }: Extract<Expression, { op: 'compare' }>): Sql {
    countStep(path)
    const kind = comparedAs(left, right)
    if (kind === 'null') {
      const other = isNull(isNullLiteral(left) ? right : left)
      return by === 'eq' ? other : unknownBoolean
    }
    return sql`(${side(kind, left, right, path)} ${operators[by]} ${side(kind, right, left, path)})`
  }

  function comparedAs(left: Expression, right: Expression): ComparisonKind {
    return comparisonKind(operandOf(left, kindOfField), operandOf(right, kindOfField))
  }

  function side(
    kind: Exclude<ComparisonKind, 'null'>,
    expression: Expression,
    other: Expression,
    path: string,
  ): Sql {
    switch (kind) {
      case 'text':
        return textBeside(expression, other)
      case 'number':
        return numberBeside(expression, other)
      case 'boolean':
        return asBoolean(expression)
      case 'time':
        return asTime(expression, path)
    }
  }

  /** Next to a column a bare parameter takes the column's type and collation, so that its index is used. */
  function textBeside(expression: Expression, other: Expression): Sql {
    if (expression.op !== 'literal' || other.op !== 'field') return asText(expression)
    return resolve(other.field).kind === 'text' ? sql`${expression.literal.text}` : asText(expression)
  }

  /**
   * The bare column, so that its index is used, unless the constant is a number that a column of doubles would round.
   */
  function numberBeside(expression: Expression, other: Expression): Sql {
    if (expression.op === 'field' && other.op === 'literal') {
      const reading = resolve(expression.field)
      if (reading.kind === 'number' && !isBeyondDoubles(other)) return reading.sql
    }
    return asNumber(expression)
  }

  /** Constants are grouped by the type they are compared as, so that a list of them becomes one IN. */
  function membership({ operand, list, path }: Extract<Expression, { op: 'in' }>): Sql {
    const conditions: Sql[] = []
    const constants = Map.groupBy(list, (option) =>
      option.op === 'literal' && !isNullLiteral(operand) ? comparedAs(operand, option) : 'one by one',
    )
    for (const option of constants.get('one by one') ?? []) {
      conditions.push(comparison({ op: 'compare', by: 'eq', left: operand, right: option, path }))
    }
    for (const kind of ['text', 'number', 'boolean', 'time'] as const) {
      const options = constants.get(kind)
      if (options?.[0] === undefined) continue
      countStep(path)
      const subject = side(kind, operand, options.find(isBeyondDoubles) ?? options[0], path)
      const values = options.map((option) => side(kind, option, operand, path))
      conditions.push(sql`(${subject} IN (${join(padToPowerOfTwo(values), ', ')}))`)
    }
    if (constants.has('null')) {
      countStep(path)
      conditions.push(isNull(operand))
    }
    if (conditions.length > 0) return joined(conditions, ' OR ')
    exists(operand)
    return rawSql('(1 = 0)')
  }

  function containment({
    input,
    substring: sought,
    ignoreCase,
  }: Extract<Expression, { op: 'contains' }>): Sql {
    const folded = (text: Sql) => (ignoreCase ? dialect.lower(text) : text)
    return sql`(${dialect.position(folded(asText(input)), folded(asText(sought)))} > 0)`
  }

  /** An operand of $in may appear in the statement several times, each with another $in inside it. */
  function countStep(path: string): void {
    if (++steps <= maxSteps) return
    throw refuse('invalid_expression', {
      field: path,
      why: 'needs too many comparisons, with $in inside $in',
      accepted: `at most ${maxSteps} comparisons`,
    })
  }

  function timeColumn(expression: Expression): Sql | undefined {
    if (expression.op !== 'field') return undefined
    const reading = resolve(expression.field)
    return reading.kind === 'time' ? reading.sql : undefined
  }

  return asBoolean
}

export function truthAsNumber({ text, number }: Pick<JsonReading, 'text' | 'number'>): Sql {
  return sql`CASE ${text} WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE ${number} END`
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
