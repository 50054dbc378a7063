import { type Sql, sql } from '../sql/sql.ts'
import type { Command, Reader, Transaction } from '../transaction.ts'
import type { LabelName } from './gated-labels.ts'
import { endShadows } from './label-shadows.ts'
import type { Sharer } from './label-shares.ts'
import { objectLock, readVersion } from './objects.ts'

/** Where a label points, what must hold before it moves, and where it pointed before. */
interface Label {
  digest: string | null
  /** The versions that answer besides; JSON. */
  share: string | null
  /** JSON. */
  gate: string | null
  /** The last one last. */
  former: string[]
  user_id: string | null
  updated_at: number | null
}

const of = ({ project_id, object_id, alias }: LabelName): Sql =>
  sql`project_id = ${project_id} AND object_id = ${object_id} AND alias = ${alias}`

export async function readLabel(db: Reader, name: LabelName): Promise<Label> {
  type Row = Omit<Label, 'digest' | 'share' | 'former'> & { former: string }
  const own = await db.get<Row>(
    sql`SELECT gate, former, user_id, updated_at FROM label_gates WHERE ${of(name)}`,
  )
  const alias = await db.get<Pick<Label, 'digest' | 'share'>>(
    sql`SELECT digest, share FROM object_aliases WHERE ${of(name)}`,
  )
  const { gate = null, former = '[]', user_id = null, updated_at = null } = own ?? {}
  return {
    ...{ digest: alias?.digest ?? null, share: alias?.share ?? null, gate },
    ...{ former: JSON.parse(former) as string[], user_id, updated_at },
  }
}

interface Setting extends LabelName {
  user_id: string
  now: number
}

async function keep(tx: Transaction, label: Setting & { gate: string | null; former: readonly string[] }) {
  const { project_id, object_id, alias, gate, former, user_id, now } = label
  await tx.run(
    sql`INSERT INTO label_gates (project_id, object_id, alias, gate, former, user_id, updated_at)
        VALUES (${project_id}, ${object_id}, ${alias}, ${gate}, ${JSON.stringify(former)}, ${user_id}, ${now})
        ON CONFLICT (project_id, object_id, alias) DO UPDATE SET gate = excluded.gate, former = excluded.former,
          user_id = excluded.user_id, updated_at = excluded.updated_at`,
  )
}

export const setGate: Command<Setting & { gate: string | null }, void> = async (tx, setting) => {
  await tx.lock(objectLock(setting.project_id, setting.object_id))
  const { former } = await readLabel(tx, setting)
  await keep(tx, { ...setting, former })
}

export interface LabelMove extends Setting {
  /** A digest; null goes back to where the label pointed before. */
  to: string | null
  /** Versions that share the label, which names `to` still. */
  share: readonly Sharer[] | null
  /** What was read before the move was decided. If it has changed, nothing is written. */
  expected: Pick<Label, 'digest' | 'gate' | 'share'>
  /** How it was decided, for the audit log. */
  way: 'move' | 'override' | 'back'
  reason: string | null
  /** The run of the evaluation that the gate looked at. */
  run: string | null
}

type Moved = { from: string | null; to: string } | { changed: string | null } | { missing: true }

/** Versions that a label can go back to. */
const maxFormer = 20

export const moveLabel: Command<LabelMove, Moved> = async (tx, move) => {
  const { project_id, object_id, alias, expected } = move
  await tx.lock(objectLock(project_id, object_id))
  const { digest: from, gate, share, former } = await readLabel(tx, move)
  if (from !== expected.digest || gate !== expected.gate || share !== expected.share) return { changed: from }
  const isLive = async (digest: string) =>
    (await readVersion(tx, project_id, { name: object_id, digest }))?.deleted_at === null
  // Back from a share is to the version that has it.
  let to = move.to ?? (share === null ? null : from)
  const areLive = async (digests: readonly (string | null)[]) =>
    (await Promise.all(digests.map((digest) => digest !== null && isLive(digest)))).every(Boolean)
  let rest = to === null || from === null || from === to ? former : [...former, from].slice(-maxFormer)
  while (to === null && rest.length > 0) {
    const last = rest.at(-1) as string
    rest = rest.slice(0, -1)
    if (last !== from && (await isLive(last))) to = last
  }
  const named = [to, ...(move.share ?? []).map(({ digest }) => digest)]
  if (to === null || !(await areLive(named))) return { missing: true }
  const newShare = move.share && JSON.stringify(move.share)
  await tx.run(
    sql`INSERT INTO object_aliases (project_id, object_id, alias, digest, share)
        VALUES (${project_id}, ${object_id}, ${alias}, ${to}, ${newShare})
        ON CONFLICT (project_id, object_id, alias) DO UPDATE SET digest = excluded.digest, share = excluded.share`,
  )
  await endShadows(
    tx,
    move,
    { why: 'the label was moved', now: move.now },
    (shadow) => shadow.alias === alias,
  )
  await keep(tx, { ...move, gate, former: rest })
  return { from, to }
}
