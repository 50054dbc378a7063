import { type FileHandle, open } from 'node:fs/promises'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { AsyncBuffer, Compressors, FileMetaData, ParquetParsers } from 'hyparquet'
import { parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { objectText } from '../../../../packages/json/index.ts'
import { formatTime } from '../../../domain/time.ts'
import { type ExportKind, exportKinds } from '../contract.ts'
import { type ColumnType, columnsOf, memberOf, weightOf } from './columns.ts'
import { headKey, ParquetError } from './head.ts'

/** A row group is in memory as a whole. */
const largestGroup = 1 << 30

/** Bytes of the rows of a table that become one line. */
const bytesOfLine = 256 * 1024

interface ParquetHead {
  kind: ExportKind
  /** All kinds that were exported. */
  kinds: ExportKind[]
  project: string
  /** The first line of the export. */
  line: string
}

interface ParquetFile {
  head: ParquetHead
  /** The rows as lines of an export in JSON Lines. `at` is called with the number of the current row. */
  lines(at: (row: number) => void): AsyncGenerator<string>
  close(): Promise<void>
}

type Row = Record<string, string | number | bigint | Uint8Array | null | undefined>

const compressors: Compressors = {
  ZSTD: (page, length) => zstdDecompressSync(page, bound(length)),
  GZIP: (page, length) => gunzipSync(page, bound(length)),
  BROTLI: (page, length) => brotliDecompressSync(page, bound(length)),
}

/** For a page that declares its length. A page of nulls is empty, but 0 is not accepted as the limit. */
const bound = (length: number) => ({ maxOutputLength: Math.max(length, 1) })

const parsers: Partial<ParquetParsers> = {
  timestampFromMicroseconds: (micros) => formatTime(Number(micros)),
  timestampFromMilliseconds: (millis) => formatTime(Number(millis) * 1_000),
}

export async function openParquet(path: string): Promise<ParquetFile> {
  const handle = await open(path)
  try {
    const { size } = await handle.stat()
    const file = bytesOf(handle, size)
    const metadata = await reading(() => parquetMetadataAsync(file, { geoparquet: false }))
    const head = headOf(metadata)
    return {
      head,
      lines: (at) => linesOf(file, metadata, head.kind, at),
      close: () => handle.close(),
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

function bytesOf(handle: FileHandle, byteLength: number): AsyncBuffer {
  return {
    byteLength,
    async slice(start, end = byteLength) {
      const bytes = new Uint8Array(end - start)
      for (let at = 0; at < bytes.length; ) {
        const { bytesRead } = await handle.read(bytes, at, bytes.length - at, start + at)
        if (bytesRead === 0) throw new ParquetError('it is truncated')
        at += bytesRead
      }
      return bytes.buffer
    },
  }
}

/** Turns an exception of the reader into an error that says what is wrong with the file. */
async function reading<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ParquetError) throw error
    throw new ParquetError(`it cannot be read as Parquet: ${(error as Error).message}`)
  }
}

function headOf({ key_value_metadata: metadata, schema }: FileMetaData): ParquetHead {
  const text = metadata?.find(({ key }) => key === headKey)?.value
  const head = text === undefined ? undefined : headIn(text)
  const kind = exportKinds.find((known) => known === head?.kind)
  if (text === undefined || kind === undefined) {
    throw new ParquetError(
      `it has no metadata ${headKey} that names a kind: only Parquet of \`heddle export\` is imported`,
    )
  }
  const there = new Set(schema.map(({ name }) => name))
  const missing = columnsOf(kind).find(([name]) => !there.has(name))
  if (missing) throw new ParquetError(`the column ${missing[0]} of ${kind} is missing`)
  const listed = Array.isArray(head?.kinds) ? head.kinds : []
  const kinds = exportKinds.filter((known) => known === kind || listed.includes(known))
  return { kind, kinds, line: `{"export":${text}}`, project: String(head?.project_id) }
}

function headIn(text: string): Partial<Record<keyof ParquetHead | 'project_id', unknown>> {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    throw new ParquetError(`its metadata ${headKey} is not JSON`)
  }
}

async function* linesOf(
  file: AsyncBuffer,
  metadata: FileMetaData,
  kind: ExportKind,
  at: (row: number) => void,
): AsyncGenerator<string> {
  const rows = rowsOf(file, metadata, kind, at)
  if (kind === 'tables') return yield* tableLines(rows)
  const columns = columnsOf(kind)
  for await (const row of rows) {
    if (kind === 'files') {
      const bytes = row.bytes
      if (!(bytes instanceof Uint8Array)) throw new ParquetError('column bytes: expected bytes')
      const piece = { digest: row.digest, size: Number(row.size), from: Number(row.from) }
      yield JSON.stringify({ file: { ...piece, base64: Buffer.from(bytes).toString('base64') } })
    } else {
      const members = new Map(columns.map(([name, type]) => [name, textOf(row[name], name, type)]))
      yield `{"${memberOf[kind]}":${objectText(members)}}`
    }
  }
}

/** Reads one row group after the other. */
async function* rowsOf(
  file: AsyncBuffer,
  metadata: FileMetaData,
  kind: ExportKind,
  at: (row: number) => void,
): AsyncGenerator<Row> {
  const columns = columnsOf(kind).map(([name]) => name)
  let rowStart = 0
  for (const { num_rows, columns: chunks } of metadata.row_groups) {
    const bytes = chunks.reduce(
      (sum, chunk) => sum + Number(chunk.meta_data?.total_uncompressed_size ?? 0),
      0,
    )
    if (bytes > largestGroup) {
      throw new ParquetError(`it has a row group of ${bytes} bytes; accepted: at most ${largestGroup}`)
    }
    const rowEnd = rowStart + Number(num_rows)
    const asked = { file, metadata, columns, rowStart, rowEnd, compressors, parsers, utf8: false }
    const rows = (await reading(() => parquetReadObjects(asked))) as Row[]
    for (const [index, row] of rows.entries()) {
      at(rowStart + index + 1)
      yield row
    }
    rowStart = rowEnd
  }
}

/** Rows of the same table are adjacent, because they were written together. */
async function* tableLines(rows: AsyncIterable<Row>): AsyncGenerator<string> {
  let line: { table: unknown; count: number; from: number; values: string[] } | undefined
  let bytes = 0
  const text = ({ table, count, from, values }: NonNullable<typeof line>) =>
    `{"rows":{"table":${JSON.stringify(table)},"count":${count},"from":${from},"values":[${values}]}}`
  for await (const { table, count, position, value } of rows) {
    const goesOn =
      line !== undefined &&
      line.table === table &&
      Number(position) === line.from + line.values.length &&
      bytes < bytesOfLine
    if (!goesOn) {
      if (line) yield text(line)
      line = { table, count: Number(count), from: Number(position ?? 0), values: [] }
      bytes = 0
    }
    // A table without rows has one row without a position.
    if (position == null) continue
    const json = textOf(value, 'value', 'json')
    line?.values.push(json)
    bytes += weightOf([json])
  }
  if (line) yield text(line)
}

/** A cell as JSON. */
function textOf(cell: Row[string], name: string, type: ColumnType): string {
  if (cell === null || cell === undefined) return 'null'
  if (type === 'number') return String(cell)
  if (typeof cell !== 'string') throw new ParquetError(`column ${name}: expected text, given ${typeof cell}`)
  if (type !== 'json') return JSON.stringify(cell)
  try {
    JSON.parse(cell)
  } catch {
    throw new ParquetError(`column ${name}: ${JSON.stringify(cell.slice(0, 100))} is not JSON`)
  }
  return cell
}
