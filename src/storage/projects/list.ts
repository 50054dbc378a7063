import type { ProjectSettings } from '../../domain/project-settings.ts'
import { join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader, type LongReader, onlyRow } from '../transaction.ts'
import type { Counts } from './deletion.ts'
import { settingsOf } from './projects.ts'
import { projectTables } from './tables.ts'

interface ListedProject {
  project: string
  settings: ProjectSettings
  isBeingDeleted: boolean
}

/** A range of names, excluding both ends; or one name. */
interface Range {
  behind: string
  before: string
  isOne?: true
}

const lastName = '\u{10ffff}'

/** By bytes, as both engines compare them. */
const inOrder = (a: string, other: string) => Buffer.compare(Buffer.from(a), Buffer.from(other))

/** The projects of these entities, and these projects, in order. */
function rangesOf(scopes: readonly string[]): Range[] {
  if (scopes.includes('*')) return [{ behind: '', before: lastName }]
  const apart = [...new Set(scopes)].filter((name) => !scopes.includes(name.slice(0, name.indexOf('/'))))
  const ranges = apart.map((scope): Range => {
    if (scope.includes('/')) return { behind: scope, before: lastName, isOne: true }
    // 0 is the character after the slash.
    return { behind: `${scope}/`, before: `${scope}0` }
  })
  return ranges.sort((a, b) => inOrder(a.behind, b.behind))
}

const listed = [
  'projects',
  ...projectTables.flatMap(({ table, counts }) => (counts === undefined ? [] : [table])),
]

/**
 * The projects that have content or settings, by name. Skips from one name to the next in the index, without reading
 * what a project contains.
 */
export async function listProjects(
  db: BoundReader,
  { scopes, after, limit }: { scopes: readonly string[]; after: string; limit: number },
): Promise<ListedProject[]> {
  const names: string[] = []
  for (const range of rangesOf(scopes)) {
    if (names.length === limit) break
    const isPassed = inOrder(after, range.behind) >= (range.isOne ? 0 : 1)
    if (range.isOne && isPassed) continue
    const behind = isPassed ? after : range.behind
    if (inOrder(behind, range.before) >= 0) continue
    const found = await allRows<{ project_id: string }>(
      db,
      namesIn(db, { ...range, behind }, range.isOne ? 1 : limit - names.length),
    )
    for (const { project_id } of found) names.push(project_id)
  }
  const rows = await db.all<{ project_id: string; settings: string; deletion: number }>(
    sql`SELECT project_id, settings, CASE WHEN deletion IS NULL THEN 0 ELSE 1 END AS deletion
        FROM projects WHERE project_id IN (${listOf(names)})`,
  )
  const known = new Map(rows.map((row) => [row.project_id, row]))
  return names.map((project) => ({
    project,
    settings: settingsOf(known.get(project)?.settings),
    isBeingDeleted: known.get(project)?.deletion === 1,
  }))
}

function namesIn({ dialect }: LongReader, { behind, before, isOne }: Range, limit: number): Sql {
  const most = rawSql(String(limit))
  const walks = listed.map((table) => {
    const [name, walk] = [rawSql(table), rawSql(`of_${table}`)]
    const first = isOne ? rawSql('=') : rawSql('>')
    const next = (from: Sql, is = rawSql('>')) =>
      sql`FROM ${name} WHERE project_id ${is} ${from} AND project_id < ${before}`
    return sql`${walk} (project_id, position) AS (
      SELECT min(project_id), 1 ${next(dialect.text(behind), first)}
      UNION ALL
      SELECT (SELECT min(project_id) ${next(sql`${walk}.project_id`)}), position + 1 FROM ${walk}
      WHERE project_id IS NOT NULL AND position < ${most})`
  })
  const names = listed.map((table) => sql`SELECT project_id FROM ${rawSql(`of_${table}`)}`)
  return sql`WITH RECURSIVE ${join(walks, ', ')}
    SELECT project_id FROM (${join(names, ' UNION ')}) AS names WHERE project_id IS NOT NULL AND ${dialect.cancellable}
    ORDER BY project_id LIMIT ${most}`
}

/** Counts the contents of a project. */
export async function countProject(db: BoundReader, project: string): Promise<Counts> {
  const counted: Counts = {}
  for (const { table, counts, live } of projectTables) {
    if (counts === undefined) continue
    const condition = live === undefined ? rawSql('1 = 1') : rawSql(live)
    const statement = sql`SELECT count(*) AS count FROM ${rawSql(table)}
      WHERE project_id = ${project} AND ${condition} AND ${db.dialect.cancellable}`
    counted[counts] = (await onlyRow<{ count: number }>(db, statement)).count
  }
  return counted
}
