import { judgeOp, proposalOp, shadowOp } from '../../domain/judge-op.ts'
import type { Dialect } from '../sql/dialect.ts'
import { rawSql, type Sql, sql } from '../sql/sql.ts'

/** In the names of the ops of a run and its trials, also for a class that extends Evaluation. */
const method = rawSql("'Evaluation.'")

/**
 * What a call was made for, in SQL: by a judge, within an evaluation (the run, its trials and what they call; a shadow of
 * a label; proposals for a prompt), or by anything else, which is the application. The op of the caller is read by its
 * name, which stands before its payload.
 */
export function originOf(dialect: Dialect): Sql {
  const isOf = (name: string) => sql`${dialect.position(rawSql(name), method)} > 0`
  return sql`(CASE WHEN calls.op = ${rawSql(`'${judgeOp}'`)} THEN 'judge' WHEN ${isOf('calls.op')} OR calls.op IN (${rawSql(`'${shadowOp}', '${proposalOp}'`)}) THEN 'evaluation'
    WHEN calls.parent_id IS NOT NULL AND ${isOf('(SELECT caller.op_name FROM calls AS caller WHERE caller.project_id = calls.project_id AND caller.id = calls.parent_id)')} THEN 'evaluation' ELSE 'app' END)`
}
