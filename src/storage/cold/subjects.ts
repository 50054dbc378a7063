import { batchesOf } from '../../domain/batches.ts'
import { textOfJson, valueAt } from '../../domain/expressions/json-value.ts'
import type { Database } from '../database.ts'
import { endUserPaths, type Subject } from '../erasures/subjects.ts'
import { sql } from '../sql/sql.ts'
import { readTexts } from './moving.ts'
import { damaged, MissingFile } from './reading.ts'
import { isReference } from './reference.ts'

const callsAtOnce = 200

/**
 * Puts the inputs of calls of this subject back into the record, where an erasure finds them: SQL does not see the store.
 * Reads all that the project has there. Returns how many calls it found.
 */
export async function thawSubject(
  db: Database,
  project: string,
  { kind, value }: Subject,
  signal: AbortSignal,
): Promise<number> {
  const { cold } = db
  if (cold === undefined || kind !== 'end_user') return 0
  let found = 0
  for (let after = ''; ; ) {
    const file = await db.get<{ id: string; call_ids: string }>(
      sql`SELECT id, call_ids FROM cold_files WHERE project_id = ${project} AND id > ${after} ORDER BY id LIMIT 1`,
    )
    if (file === undefined) return found
    after = file.id
    for (const ids of batchesOf(JSON.parse(file.call_ids) as string[], callsAtOnce)) {
      signal.throwIfAborted()
      const stored = await readTexts(cold.bare, project, ids, signal)
      const inputs = stored.filter(({ column, text }) => column === 'inputs' && isReference(text))
      const texts = await cold.reading
        .texts(new Set(inputs.map(({ text }) => text)), signal)
        .catch((error: unknown) => {
          // The erasure is asked for again.
          throw error instanceof MissingFile ? damaged(error) : error
        })
      const own = inputs.filter(({ text }) => isOfEndUser(texts.get(text) ?? '', value))
      await cold.thaw(own.map(({ text }) => text))
      found += own.length
    }
  }
}

const isOfEndUser = (inputs: string, value: string): boolean =>
  endUserPaths.inputs.some((path) => textOfJson(valueAt(inputs, path)) === value)
