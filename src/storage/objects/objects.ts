import { pairsOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'

export type ObjectKind = 'op' | 'object'

/** A version as it is stored, without its value. Times are microseconds. */
export interface ObjectVersion {
  project_id: string
  object_id: string
  digest: string
  version_index: number
  is_latest: number
  kind: ObjectKind
  base_object_class: string | null
  leaf_object_class: string | null
  size: number
  user_id: string
  created_at: number
  deleted_at: number | null
}

export interface ObjectWithValue extends ObjectVersion {
  /** JSON; null when the version is deleted. */
  val: string | null
}

export const versionColumns = rawSql(
  'objects.project_id, objects.object_id, objects.digest, objects.version_index, objects.is_latest, objects.kind, objects.base_object_class, objects.leaf_object_class, objects.size, objects.user_id, objects.created_at, objects.deleted_at',
)

/** What identifies a version of an object: the digest, `latest`, `v` and its number, or an alias. */
export interface VersionName {
  name: string
  digest: string
}

const numbered = /^v(0|[1-9]\d{0,14})$/

/** Names that the server assigns, which no alias may use. */
export function isReservedVersion(name: string): boolean {
  return name === 'latest' || /^v\d+$/.test(name)
}

function named(project: string, { name, digest }: VersionName): Sql {
  const version = numbered.exec(digest)?.[1]
  const of = sql`project_id = ${project} AND object_id = ${name}`
  if (digest === 'latest') return sql`${of} AND is_latest = 1`
  if (version !== undefined) return sql`${of} AND version_index = ${Number(version)}`
  return sql`${of} AND digest IN (${digest}, (SELECT digest FROM object_aliases WHERE ${of} AND alias = ${digest}))
    ORDER BY CASE WHEN digest = ${digest} THEN 0 ELSE 1 END LIMIT 1`
}

/** The value of a version that is shown. */
export function shownValue({ dialect }: Reader): Sql {
  return sql`${dialect.stored(rawSql('objects.val'))} AS val`
}

/** The stored version, even if deleted; undefined if there is none. `latest` is the latest that is not deleted. */
export function readObject(
  db: Reader,
  project: string,
  version: VersionName,
): Promise<ObjectWithValue | undefined> {
  return db.get<ObjectWithValue>(
    sql`SELECT ${versionColumns}, ${shownValue(db)} FROM objects WHERE ${named(project, version)}`,
  )
}

/** The same without the value. */
export function readVersion(
  db: Reader,
  project: string,
  version: VersionName,
): Promise<ObjectVersion | undefined> {
  return db.get<ObjectVersion>(sql`SELECT ${versionColumns} FROM objects WHERE ${named(project, version)}`)
}

/** Versions by digest, without their values; missing ones are left out. */
export async function readVersions(
  db: Reader,
  project: string,
  wanted: readonly VersionName[],
): Promise<ObjectVersion[]> {
  if (wanted.length === 0) return []
  const pairs = pairsOf(wanted.map(({ name, digest }) => [name, digest]))
  return db.all<ObjectVersion>(
    sql`SELECT ${versionColumns} FROM objects WHERE project_id = ${project} AND (object_id, digest) IN ${pairs}`,
  )
}

/** The value of the version with this digest; null if it is deleted. */
export async function readValue(
  db: Reader,
  project: string,
  { name, digest }: VersionName,
): Promise<string | null> {
  const row = await db.get<{ val: string | null }>(
    sql`SELECT ${shownValue(db)} FROM objects WHERE project_id = ${project} AND object_id = ${name} AND digest = ${digest}`,
  )
  return row?.val ?? null
}

/** The values of the versions with these digests, in any order; deleted ones are left out. */
export async function readValues(
  db: Reader,
  project: string,
  versions: readonly Pick<ObjectVersion, 'object_id' | 'digest'>[],
): Promise<{ object_id: string; digest: string; val: string }[]> {
  if (versions.length === 0) return []
  const pairs = pairsOf(versions.map(({ object_id, digest }) => [object_id, digest]))
  return db.all(
    sql`SELECT object_id, digest, ${shownValue(db)} FROM objects
        WHERE project_id = ${project} AND (object_id, digest) IN ${pairs} AND val IS NOT NULL`,
  )
}

export interface NewObject
  extends Omit<ObjectVersion, 'version_index' | 'is_latest' | 'created_at' | 'deleted_at'> {
  val: string
  now: number
  /** The digest that must be the latest until then; empty if there must be none. */
  expected_latest?: string | null
}

/** A name has one class for good; `conflict` is the class that it has. `latest` is not the expected version. */
type StoredObject = { version_index: number } | { conflict: string } | { latest: string | undefined }

/** The class of the values under a name, if there are any. */
export async function classOfName(
  db: Pick<Reader, 'get'>,
  projectId: string,
  name: string,
): Promise<string | undefined> {
  // Any version will do, because all have the same class; the ORDER BY makes PostgreSQL use the index.
  const held = await db.get<{ base_object_class: string }>(
    sql`SELECT base_object_class FROM objects WHERE project_id = ${projectId} AND object_id = ${name}
        AND deleted_at IS NULL AND base_object_class IS NOT NULL ORDER BY base_object_class LIMIT 1`,
  )
  return held?.base_object_class
}

/**
 * Stores a value under a name. Storing a value again gives the same version, which becomes the latest; a deleted
 * version is restored with its number. Times increase with the numbers, even if a clock or a lock was late. Everything
 * is looked up by an index, so the cost does not depend on how many versions the name has.
 */
export const keepObject: Command<NewObject, StoredObject> = async (tx, object) => {
  const { project_id, object_id, digest, base_object_class } = object
  await tx.lock(objectLock(project_id, object_id))
  const of = sql`project_id = ${project_id} AND object_id = ${object_id}`
  if (base_object_class !== null) {
    const held = await classOfName(tx, project_id, object_id)
    if (held !== undefined && held !== base_object_class) return { conflict: held }
  }
  if (object.expected_latest != null) {
    const latest = await readVersion(tx, project_id, { name: object_id, digest: 'latest' })
    if ((latest?.digest ?? '') !== object.expected_latest) return { latest: latest?.digest }
  }
  const recent = await tx.get<{ recency: number | null }>(
    sql`SELECT max(recency) AS recency FROM objects WHERE ${of} AND deleted_at IS NULL`,
  )
  const recency = (recent?.recency ?? 0) + 1
  const known = await tx.get<Pick<ObjectVersion, 'version_index' | 'deleted_at'>>(
    sql`SELECT version_index, deleted_at FROM objects WHERE ${of} AND digest = ${digest}`,
  )
  await tx.run(sql`UPDATE objects SET is_latest = 0 WHERE ${of} AND is_latest = 1`)
  if (known !== undefined) {
    // An existing value stays as it was first written (decision 0007).
    const value =
      known.deleted_at === null
        ? rawSql('')
        : sql`, deleted_at = NULL, val = ${object.val}, size = ${object.size}`
    await tx.run(
      sql`UPDATE objects SET is_latest = 1, recency = ${recency}${value} WHERE ${of} AND digest = ${digest}`,
    )
    return { version_index: known.version_index }
  }
  const last = await tx.get<{ version_index: number; created_at: number }>(
    sql`SELECT version_index, created_at FROM objects WHERE ${of} ORDER BY version_index DESC LIMIT 1`,
  )
  const version = last === undefined ? 0 : last.version_index + 1
  const created = last === undefined ? object.now : Math.max(object.now, last.created_at + 1)
  await tx.run(
    sql`INSERT INTO objects (project_id, object_id, digest, version_index, recency, is_latest, kind, base_object_class,
          leaf_object_class, val, size, user_id, created_at)
        VALUES (${project_id}, ${object_id}, ${digest}, ${version}, ${recency}, 1, ${object.kind}, ${base_object_class},
          ${object.leaf_object_class}, ${object.val}, ${object.size}, ${object.user_id}, ${created})`,
  )
  return { version_index: version }
}

export function objectLock(project: string, name: string): string {
  return `object ${project} ${name}`
}

/** Versions of a kind: ops, or objects of these base classes. */
export type VersionsOf = { is_op: true } | { base_object_classes: readonly string[] }

export function isOf(
  only: VersionsOf,
  { kind, base_object_class }: Pick<ObjectVersion, 'kind' | 'base_object_class'>,
): boolean {
  if ('is_op' in only) return kind === 'op'
  return base_object_class !== null && only.base_object_classes.includes(base_object_class)
}
