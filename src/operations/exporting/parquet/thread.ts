import { workerData } from 'node:worker_threads'
import { zstdCompressSync } from 'node:zlib'
import type { SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { lowerThreadPriority } from '../../../threads/priority.ts'
import { portToParent } from '../../../threads/thread.ts'
import { type Cell, type Columns, type ColumnType, weightOf } from './columns.ts'

/** Where the thread is started from. */
export const parquetThread = import.meta.url

export interface ParquetThreadData {
  columns: Columns
  /** Metadata of the whole file, by name. */
  metadata: Readonly<Record<string, string>>
}

/** Rows to add; `end` finishes the file. */
export type ParquetQuestion = Cell[][] | 'end'

/** A row group is compressed at once: larger groups are read faster, smaller ones need less memory. */
const groupWeight = 4 << 20
const groupRows = 20_000

const schemaOf: Record<ColumnType, Pick<SchemaElement, 'type' | 'converted_type' | 'logical_type'>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  json: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  number: { type: 'INT64' },
  time: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  bytes: { type: 'BYTE_ARRAY' },
}

/** The thread: it answers each question with the next bytes of the file, which are often none. */
export function serve(): void {
  lowerThreadPriority()
  const port = portToParent()
  const file = createFile(workerData as ParquetThreadData)
  port.on('message', (question: ParquetQuestion) => {
    if (question === 'end') file.end()
    else file.add(question)
    const bytes = file.taken()
    port.postMessage(bytes, [bytes.buffer])
  })
}

function createFile({ columns, metadata }: ParquetThreadData) {
  const bytes = new ByteWriter()
  const root = { name: 'schema', num_children: columns.length }
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [
      root,
      ...columns.map(([name, type]) => ({ name, repetition_type: 'OPTIONAL' as const, ...schemaOf[type] })),
    ],
    codec: 'ZSTD',
    compressors: { ZSTD: (page) => zstdCompressSync(page) },
    kvMetadata: Object.entries(metadata).map(([key, value]) => ({ key, value })),
    createdBy: 'heddle',
  })
  let rows: Cell[][] = []
  let weight = 0

  function writeGroup(): void {
    if (rows.length === 0) return
    const columnData = columns.map(([name, type], index) => ({
      name,
      data: rows.map((row) => asStored(row[index] as Cell, type)),
      // The minimum and maximum of these columns do not help to find anything.
      statistics: type !== 'json' && type !== 'bytes',
      offsetIndex: false,
    }))
    writer.write({ columnData, rowGroupSize: rows.length })
    rows = []
    weight = 0
  }

  return {
    add(added: readonly Cell[][]): void {
      for (const row of added) {
        rows.push(row)
        weight += weightOf(row)
        if (weight >= groupWeight || rows.length >= groupRows) writeGroup()
      }
    },
    end(): void {
      writeGroup()
      writer.finish()
    },
    /** The bytes written since the last call. They are handed over. */
    taken(): Uint8Array<ArrayBuffer> {
      const taken = bytes.getBytes().slice()
      bytes.index = 0
      return taken
    },
  }
}

function asStored(cell: Cell, type: ColumnType): Cell | bigint {
  return typeof cell === 'number' && (type === 'number' || type === 'time') ? BigInt(cell) : cell
}
