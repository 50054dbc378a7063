import { once } from 'node:events'
import { writeJson } from '../../../domain/json/text.ts'
import type { BoundDatabase } from '../../../storage/database.ts'
import { startThread } from '../../../threads/thread.ts'
import type { ExportKind } from '../contract.ts'
import { type Exported, exportRecords, headOf } from '../export.ts'
import { type Cell, columnsOf, rowsOf, weightOf } from './columns.ts'
import { headKey } from './head.ts'
import { type ParquetQuestion, type ParquetThreadData, parquetThread } from './thread.ts'

/** Bytes of rows that are passed to the thread at a time: more would block this one. */
const handedOver = 256 * 1024

/** One row may be as large as a request body, and is in memory several times while it is compressed. */
const heapMb = 256

/**
 * One kind of an export as a Parquet file, in pieces, at the pace of the reader. Columns are encoded and compressed in
 * a separate thread. The file cannot be read without its last piece.
 */
export async function* parquetPieces(
  db: BoundDatabase,
  asked: Exported & { kind: ExportKind },
): AsyncGenerator<Uint8Array> {
  const { kind } = asked
  const head = { ...headOf(asked), kind }
  const file = startFile({ columns: columnsOf(kind), metadata: { [headKey]: writeJson(head) } })
  try {
    let rows: Cell[][] = []
    let weight = 0
    for await (const record of exportRecords(db, kindAlone(asked))) {
      for (const row of rowsOf(kind, record)) {
        rows.push(row)
        weight += weightOf(row)
      }
      if (weight < handedOver) continue
      const bytes = await file.ask(rows)
      if (bytes.length > 0) yield bytes
      rows = []
      weight = 0
    }
    if (rows.length > 0) yield await file.ask(rows)
    yield await file.ask('end')
  } finally {
    await file.close()
  }
}

const kindAlone = ({ kind, ...asked }: Exported & { kind: ExportKind }): Exported => ({
  ...asked,
  kinds: [kind],
})

function startFile(data: ParquetThreadData) {
  const thread = startThread(parquetThread, data, heapMb)
  const failed = new Promise<never>((_, reject) => {
    thread.on('error', reject)
    thread.on('exit', () => reject(new Error('the thread that writes Parquet has ended')))
  })
  // Each `ask` reports the failure.
  failed.catch(() => undefined)
  return {
    /** The next bytes of the file. One question at a time. */
    async ask(question: ParquetQuestion): Promise<Uint8Array> {
      const answered = once(thread, 'message')
      thread.postMessage(question)
      const [bytes] = await Promise.race([answered, failed])
      return bytes as Uint8Array
    },
    close: () => thread.terminate(),
  }
}
