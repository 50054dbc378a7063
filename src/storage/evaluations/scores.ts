import { isListIndex } from '../../domain/expressions/path.ts'
import type { Dialect } from '../sql/dialect.ts'
import { truthAsNumber } from '../sql/expressions.ts'
import { join, rawSql, type Sql, sql } from '../sql/sql.ts'
import { type EvaluationShape, noShape } from './shapes.ts'

/** Reads a scalar of the scores of a `trial`, without opening the scores if their shape is enough. */
interface ScoreReading {
  /** 1 or 0 for a boolean. */
  number: Sql
  /** The number that a boolean stands for, 1 or 0; or another number. */
  truth: Sql
  /** Some of the numbers may be more precise than a double. */
  isExact: boolean
}

/** With more, reading the scores themselves costs no more. */
const maxShapes = 100

const scores = rawSql('trial.scores')

/** Read from the scores themselves. */
export function storedNumber(path: readonly string[], dialect: Dialect): Sql {
  return truthAsNumber(dialect.json(scores, path))
}

/**
 * Undefined if the scores themselves have to be read: there may be a list at the path, or there are too many shapes.
 */
export function scoreReading(
  shapes: readonly EvaluationShape[],
  path: readonly string[],
  dialect: Dialect,
): ScoreReading | undefined {
  if (shapes.length > maxShapes || path.some(isListIndex)) return undefined
  const isSaid = shapes.every(({ shape }) => shape !== noShape)
  const arms: Record<'numbers' | 'truths', Sql[]> = { numbers: [], truths: [] }
  for (const known of shapes) {
    const { shape } = known
    const slot = slotOf(known, path)
    if (slot === -1) continue
    const column = rawSql(`trial.v${slot}`)
    const when = rawSql(`WHEN ${shape} THEN`)
    arms.truths.push(sql`${when} ${column}`)
    // Next to a column of doubles, PostgreSQL would convert all numbers to doubles.
    arms.numbers.push(sql`${when} ${isSaid ? column : dialect.columnNumber(column)}`)
  }
  const chosen = (some: readonly Sql[], otherwise: () => Sql): Sql => {
    const all = isSaid ? some : [...some, sql`WHEN ${rawSql(String(noShape))} THEN ${otherwise()}`]
    return all.length === 0 ? rawSql('CAST(NULL AS NUMERIC)') : sql`(CASE trial.shape ${join(all, ' ')} END)`
  }
  const { text } = dialect.json(scores, path)
  const truth = sql`CASE ${text} WHEN 'true' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN '0' THEN 0 END`
  return {
    number: chosen(arms.numbers, () => storedNumber(path, dialect)),
    truth: chosen(arms.truths, () => truth),
    isExact: !isSaid,
  }
}

/** The slot of a score in trials of a shape; -1 if it has none. */
export function slotOf({ leaves }: EvaluationShape, path: readonly string[]): number {
  return leaves.findIndex(([, ...keys]) => isSame(keys, path))
}

function isSame(keys: readonly string[], path: readonly string[]): boolean {
  return keys.length === path.length && keys.every((key, i) => key === path[i])
}
