import { sql } from '../../sql/sql.ts'
import type { Command, Reader } from '../../transaction.ts'
import { headerName, type VersionedEvaluation } from './gather.ts'

/** Stores one column. Returns false if the evaluation has changed since the column was made. */
export const keepColumn: Command<VersionedEvaluation & { name: string; bytes: Uint8Array }, boolean> = async (
  tx,
  { project_id, evaluation_id, version, name, bytes },
) => {
  if (!(await isVersion(tx, { project_id, evaluation_id, version }))) return false
  await tx.run(
    sql`INSERT INTO eval_columns (project_id, evaluation_id, version, name, bytes)
        VALUES (${project_id}, ${evaluation_id}, ${version}, ${name}, ${bytes})
        ON CONFLICT (project_id, evaluation_id, version, name) DO UPDATE SET bytes = excluded.bytes`,
  )
  return true
}

/** From now on queries read the columns of this version; those of other versions are removed. */
export const finishColumns: Command<VersionedEvaluation & { header: string }, boolean> = async (
  tx,
  { header, ...of },
) => {
  const { project_id, evaluation_id, version } = of
  if (!(await keepColumn(tx, { ...of, name: headerName, bytes: new TextEncoder().encode(header) })))
    return false
  await tx.run(
    sql`DELETE FROM eval_columns
        WHERE project_id = ${project_id} AND evaluation_id = ${evaluation_id} AND version <> ${version}`,
  )
  const changed = await tx.run(
    sql`UPDATE eval_row_sets SET kept_as = ${version}
        WHERE project_id = ${project_id} AND evaluation_id = ${evaluation_id} AND version = ${version}`,
  )
  return changed > 0
}

async function isVersion(tx: Reader, { project_id, evaluation_id, version }: VersionedEvaluation) {
  const set = await tx.get<{ version: string }>(
    sql`SELECT version FROM eval_row_sets WHERE project_id = ${project_id} AND evaluation_id = ${evaluation_id}`,
  )
  return set?.version === version
}
