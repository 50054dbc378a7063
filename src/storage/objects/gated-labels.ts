import { sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

/** An alias of an object. */
export interface LabelName {
  project_id: string
  object_id: string
  alias: string
}

interface GatedLabel {
  alias: string
  digest: string | null
  /** JSON. */
  share: string | null
}

/** The first label of an object that has a gate and is affected by what is about to be written. */
export async function gatedAmong(
  tx: Reader,
  { project_id, object_id }: Omit<LabelName, 'alias'>,
  isAffected: (label: GatedLabel) => boolean,
): Promise<string | undefined> {
  const gated = await tx.all<GatedLabel>(
    sql`SELECT label_gates.alias, object_aliases.digest, object_aliases.share FROM label_gates LEFT JOIN object_aliases
          ON object_aliases.project_id = label_gates.project_id AND object_aliases.object_id = label_gates.object_id
          AND object_aliases.alias = label_gates.alias
        WHERE label_gates.project_id = ${project_id} AND label_gates.object_id = ${object_id}
          AND label_gates.gate IS NOT NULL ORDER BY label_gates.alias`,
  )
  return gated.find(isAffected)?.alias
}
