import { inSteps, type YieldToLoop } from '../../../packages/waiting/index.ts'
import type { JsonText, WithSharedTexts } from '../../domain/json/text.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import { readTable, type TableRow } from '../../storage/objects/tables.ts'

/** Small writes, so that others can run in between. */
const bytesAtOnce = 1024 * 1024
const rowsAtOnce = 256
const entriesAtOnce = 2000
/** Writes of one request that run at a time, so that they share a commit. */
const writesAtOnce = 4

export interface GivenRow {
  digest: string
  val: JsonText
}

/** The digests, each once. */
export async function withoutDuplicates(
  digests: readonly string[],
  yieldToLoop: YieldToLoop,
): Promise<string[]> {
  const once = new Set<string>()
  await inSteps(digests, (digest) => void once.add(digest), yieldToLoop)
  return [...once]
}

/** Stores rows, some of which the project may have already. */
export async function storeAllRows(db: Database, projectId: string, rows: Iterable<GivenRow>): Promise<void> {
  const once = new Map<string, GivenRow>()
  await inSteps(rows, (row) => {
    // The first spelling of a value is the one that is kept (decision 0007).
    if (!once.has(row.digest)) once.set(row.digest, row)
  })
  await writeAll(writeBatches(once.values()), (portion) =>
    db.write('keepRows', { project_id: projectId, rows: portion }),
  )
}

function* writeBatches(rows: Iterable<GivenRow>): Generator<WithSharedTexts<TableRow>[]> {
  let portion: WithSharedTexts<TableRow>[] = []
  let bytes = 0
  for (const { digest, val } of rows) {
    const { stored } = val
    if (portion.length >= rowsAtOnce || (portion.length > 0 && bytes + stored.length > bytesAtOnce)) {
      yield portion
      portion = []
      bytes = 0
    }
    portion.push({ digest, val: stored })
    bytes += stored.length
  }
  if (portion.length > 0) yield portion
}

/**
 * Stores the order of a table whose rows are stored, and makes the table visible once the order is complete. An
 * interrupted write leaves a part of the same table, which the next one completes.
 */
export async function storeOrder(
  db: Database,
  projectId: string,
  digest: string,
  rowDigests: Iterable<string> & { readonly length: number },
): Promise<void> {
  if ((await readTable(db, projectId, digest)) !== undefined) return
  await writeAll(partsOf(rowDigests), (batch) =>
    db.write('keepEntries', { project_id: projectId, table_digest: digest, ...batch }),
  )
  await db.write('keepTable', { project_id: projectId, digest, row_count: rowDigests.length, now: now() })
}

/** Splits an order into parts, each with the position of its first row. */
function* partsOf(rowDigests: Iterable<string>): Generator<{ from: number; row_digests: string[] }> {
  let from = 0
  let digests: string[] = []
  for (const digest of rowDigests) {
    digests.push(digest)
    if (digests.length < entriesAtOnce) continue
    yield { from, row_digests: digests }
    from += digests.length
    digests = []
  }
  if (digests.length > 0) yield { from, row_digests: digests }
}

async function writeAll<Part>(batches: Iterable<Part>, write: (batch: Part) => Promise<void>): Promise<void> {
  const rest = batches[Symbol.iterator]()
  const worker = async () => {
    for (let next = rest.next(); !next.done; next = rest.next()) await write(next.value)
  }
  await Promise.all(Array.from({ length: writesAtOnce }, worker))
}
