import { type Sql, sql } from '../sql/sql.ts'
import type { Command, Transaction } from '../transaction.ts'
import { gatedAmong } from './gated-labels.ts'
import { endShadows } from './label-shadows.ts'
import { endShares, sharersOf } from './label-shares.ts'
import { isOf, type ObjectVersion, objectLock, readVersion, type VersionsOf } from './objects.ts'

interface ObjectDeletion {
  project_id: string
  object_id: string
  /** Versions of another kind count as missing; null means any kind. */
  only: VersionsOf | null
  /** Digests, `latest`, numbers or aliases; null means every version. */
  versions: readonly string[] | null
  now: number
}

/** `missing` names a version that does not exist, `gated` a label with a gate on one; nothing is deleted then. */
type DeletedObjects = { deleted: number } | { missing: string } | { gated: string }

export const deleteObjects: Command<ObjectDeletion, DeletedObjects> = async (tx, deletion) => {
  const { project_id, object_id, now } = deletion
  await tx.lock(objectLock(project_id, object_id))
  const found = await digestsOf(tx, deletion)
  if ('missing' in found) return found
  const { digests } = found
  const gated = await gatedAmong(tx, deletion, ({ digest, share }) =>
    [digest, ...(sharersOf(share) ?? []).map((sharer) => sharer.digest)].some(
      (labelled) => labelled !== null && digests.has(labelled),
    ),
  )
  if (gated !== undefined) return { gated }
  await endShares(tx, deletion, digests)
  await endShadows(
    tx,
    deletion,
    { why: 'a version was deleted', now },
    ({ digest, present }) => digests.has(digest) || digests.has(present),
  )
  const ofObject = sql`project_id = ${project_id} AND object_id = ${object_id}`
  for (const digest of digests) {
    const ofVersion = sql`${ofObject} AND digest = ${digest}`
    await tx.run(
      sql`UPDATE objects SET deleted_at = ${now}, val = NULL, size = 0, is_latest = 0 WHERE ${ofVersion}`,
    )
    await tx.run(sql`DELETE FROM object_aliases WHERE ${ofVersion}`)
    await tx.run(sql`DELETE FROM object_tags WHERE ${ofVersion}`)
  }
  await chooseLatest(tx, ofObject)
  return { deleted: digests.size }
}

/** The versions to delete, or the first that does not exist. */
async function digestsOf(
  tx: Transaction,
  { project_id, object_id, only, versions }: ObjectDeletion,
): Promise<{ digests: Set<string> } | { missing: string }> {
  const isMeant = (version: Pick<ObjectVersion, 'kind' | 'base_object_class'>) =>
    only === null || isOf(only, version)
  const digests = new Set<string>()
  if (versions === null) {
    const all = await tx.all<Pick<ObjectVersion, 'digest' | 'kind' | 'base_object_class'>>(
      sql`SELECT digest, kind, base_object_class FROM objects
          WHERE project_id = ${project_id} AND object_id = ${object_id} AND deleted_at IS NULL`,
    )
    for (const version of all) if (isMeant(version)) digests.add(version.digest)
    return digests.size === 0 ? { missing: object_id } : { digests }
  }
  for (const name of versions) {
    const version = await readVersion(tx, project_id, { name: object_id, digest: name })
    if (version === undefined || version.deleted_at !== null || !isMeant(version)) return { missing: name }
    digests.add(version.digest)
  }
  return { digests }
}

async function chooseLatest(tx: Transaction, ofObject: Sql): Promise<void> {
  const latest = await tx.get(sql`SELECT digest FROM objects WHERE ${ofObject} AND is_latest = 1`)
  if (latest !== undefined) return
  await tx.run(
    sql`UPDATE objects SET is_latest = 1 WHERE ${ofObject} AND deleted_at IS NULL AND recency =
          (SELECT max(recency) FROM objects WHERE ${ofObject} AND deleted_at IS NULL)`,
  )
}
