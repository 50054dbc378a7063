import { rawSql, type Sql, sql } from '../sql/sql.ts'
import type { Reader } from '../transaction.ts'

/** Where the text of a column of a call is: one entry of a block of a file. */
export interface Reference {
  file: string
  /** Of the block in the file, in bytes. */
  offset: number
  length: number
  /** Of the entry in the block. */
  entry: number
}

/** Stored JSON never begins with a space (docs/decisions/0004), so no client can write this. */
const mark = ' "cold:'
const form = /^ "cold:([\da-f-]{36}):(\d{1,15}):(\d{1,10}):(\d{1,6})"$/

/** Columns whose texts move. The names are those of rows, too. */
export const coldColumns = ['inputs', 'output'] as const
export type ColdColumn = (typeof coldColumns)[number]

export const referenceText = ({ file, offset, length, entry }: Reference): string =>
  `${mark}${file}:${offset}:${length}:${entry}"`

export const isReference = (value: unknown): value is string =>
  typeof value === 'string' && value.charCodeAt(0) === 32 && value.startsWith(mark)

const noReferences: ReadonlySet<string> = new Set()

/** Of rows of any query: each of them passes here, so it only looks at two first characters. */
export function referencesIn(rows: readonly unknown[]): ReadonlySet<string> {
  let found: Set<string> | undefined
  for (const row of rows as readonly (Partial<Record<ColdColumn, unknown>> | undefined)[]) {
    if (row === undefined) continue
    const { inputs, output } = row
    if (isReference(inputs)) found = (found ?? new Set()).add(inputs)
    if (isReference(output)) found = (found ?? new Set()).add(output)
  }
  return found ?? noReferences
}

export function parseReference(text: string): Reference | undefined {
  const [, file, offset, length, entry] = form.exec(text) ?? []
  if (file === undefined) return undefined
  return { file, offset: Number(offset), length: Number(length), entry: Number(entry) }
}

/** In SQL: the text of the column is in the record. */
export const isHere = (column: string): Sql => rawSql(`substr(${column}, 1, 1) <> ' '`)

/** Conditions, sorts and columns read these fields in the record alone. */
export const isColdField = (field: string): boolean => /^(?:inputs|output)(?:\.|$)/.test(field)

/** When the last call of the project began whose texts are in the store; undefined if there is none. */
export async function coldUntil(db: Reader, project: string): Promise<number | undefined> {
  const row = await db.get<{ at: number | null }>(
    sql`SELECT max(until_at) AS at FROM cold_files WHERE project_id = ${project} AND state = 'ready'`,
  )
  return row?.at == null ? undefined : Number(row.at)
}
