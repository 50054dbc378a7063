import { exampleKinds } from '../../domain/evaluations/example.ts'
import { listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, onlyRow } from '../transaction.ts'

/** Rows that trials refer to and that no table of their project contains. */
export interface ReferredRows {
  db: BoundReader
  project: string
  evaluations: readonly string[]
}

/** The rows of more projects are not compared; they count as missing. */
const maxProjects = 100

const objectRef = /^[a-z][a-z0-9+.-]*:\/\/\/([^/]+\/[^/]+)\/object\/$/

/** The projects in the references to such rows. */
export async function projectsReferredTo({ db, ...rows }: ReferredRows): Promise<string[]> {
  const { dialect } = db
  const example = dialect.json(rawSql('calls.inputs'), ['example']).text
  const object = rawSql("'/object/'")
  const found = await allRows<{ start: string }>(
    db,
    sql`SELECT DISTINCT substr(example, 1, ${dialect.position(rawSql('example'), object)} + 7) AS start FROM (
        SELECT ${example} AS example FROM eval_trials AS trial
        JOIN calls ON calls.project_id = trial.project_id AND calls.id = trial.trial_id
        WHERE ${unreadIn(rows, [])} AND ${dialect.cancellable}) AS refs LIMIT ${maxProjects}`,
  )
  return [...new Set(found.flatMap(({ start }) => objectRef.exec(start)?.[1] ?? []))].sort()
}

/** The number of such rows that no table of these projects contains either. */
export async function countUnread(
  { db, ...rows }: ReferredRows,
  otherProjects: readonly string[],
): Promise<number> {
  const { count } = await onlyRow<{ count: number }>(
    db,
    sql`SELECT count(DISTINCT trial.row_digest) AS count FROM eval_trials AS trial
        WHERE ${unreadIn(rows, otherProjects)} AND ${db.dialect.cancellable}`,
  )
  return count
}

/** A row that a table of the project contained when the trial was derived has a brief. */
function unreadIn(
  { project, evaluations }: Pick<ReferredRows, 'project' | 'evaluations'>,
  otherProjects: readonly string[],
): Sql {
  return sql`trial.project_id = ${project} AND trial.evaluation_id IN (${listOf(evaluations)})
    AND trial.row_kind = ${rawSql(String(exampleKinds.ref))} AND trial.brief IS NULL
    AND NOT EXISTS (SELECT 1 FROM table_rows WHERE table_rows.project_id IN (${listOf([project, ...otherProjects])})
      AND table_rows.digest = trial.row_digest)`
}
