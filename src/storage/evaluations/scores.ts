import { leafKinds } from '../../domain/evaluations/leaves.ts'
import { isListIndex } from '../../domain/expressions/path.ts'
import type { Dialect } from '../sql/dialect.ts'
import { join, type Sql, sql, trusted } from '../sql/sql.ts'
import { type EvaluationShape, noShape } from './shapes.ts'

/** A scalar of the scores of a `trial`, without looking at the scores where their shape says enough. */
export interface ScoreReading {
  /** For a mean: of a boolean 1 or 0. */
  mean: Sql
  /** As a query reads a number: a boolean is none. */
  number: Sql
  /** The number that a truth value stands for, 1 or 0; or another number. */
  truth: Sql
}

/** More would cost as much as looking at the scores. */
const mostShapes = 100

const scores = trusted('trial.scores')

/** As a mean takes it, out of the scores themselves. */
export function meanReading(path: readonly string[], dialect: Dialect): Sql {
  const { number, text } = dialect.json(scores, path)
  return sql`CASE ${text} WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE ${number} END`
}

/** Undefined where only the scores themselves can say it: there may be a list at the path, or too many shapes. */
export function scoreReading(
  shapes: readonly EvaluationShape[],
  path: readonly string[],
  dialect: Dialect,
): ScoreReading | undefined {
  if (shapes.length > mostShapes || path.some(isListIndex)) return undefined
  const arms: Record<'any' | 'numbers', Sql[]> = { any: [], numbers: [] }
  for (const { shape, leaves } of shapes) {
    const slot = leaves.findIndex(([, ...keys]) => isSame(keys, path))
    const leaf = leaves[slot]
    if (leaf === undefined) continue
    const arm = trusted(`WHEN ${shape} THEN trial.v${slot}`)
    arms.any.push(arm)
    if (leaf[0] !== leafKinds.binary) arms.numbers.push(arm)
  }
  const isSaid = shapes.every(({ shape }) => shape !== noShape)
  const chosen = (some: readonly Sql[], otherwise: () => Sql): Sql => {
    const all = isSaid ? some : [...some, sql`WHEN ${trusted(String(noShape))} THEN ${otherwise()}`]
    return all.length === 0 ? trusted('CAST(NULL AS NUMERIC)') : sql`(CASE trial.shape ${join(all, ' ')} END)`
  }
  const { number, text } = dialect.json(scores, path)
  const truth = sql`CASE ${text} WHEN 'true' THEN 1 WHEN '1' THEN 1 WHEN 'false' THEN 0 WHEN '0' THEN 0 END`
  return {
    mean: chosen(arms.any, () => meanReading(path, dialect)),
    number: chosen(arms.numbers, () => number),
    truth: chosen(arms.any, () => truth),
  }
}

function isSame(keys: readonly string[], path: readonly string[]): boolean {
  return keys.length === path.length && keys.every((key, i) => key === path[i])
}
