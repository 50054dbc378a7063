import { createReadStream, existsSync } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { exportKinds } from './contract.ts'
import { linesIn } from './lines.ts'
import { ParquetError } from './parquet/head.ts'

/** More than the body of a request, and so a call, may have. */
const maxLineLength = 256 << 20

/** What an import reads: its lines, and the present position for messages. */
interface ImportSource {
  lines: AsyncIterable<Buffer>
  at(): string
  /** What is missing from a source that is not a whole export. */
  missing(): string
}

export const nameOf = (kind: string): string => `${kind}.parquet`

/** JSON Lines from a file or a stream, a Parquet file, or a folder of Parquet files. */
export async function openSource(path: string | AsyncIterable<Uint8Array>): Promise<ImportSource> {
  if (typeof path !== 'string') return jsonLinesOf(path)
  if ((await stat(path)).isDirectory()) {
    const files = exportKinds.map((kind) => join(path, nameOf(kind))).filter((file) => existsSync(file))
    return parquetOf(files, path)
  }
  if (await isParquet(path)) return parquetOf([path], undefined)
  return jsonLinesOf(createReadStream(path))
}

async function isParquet(path: string): Promise<boolean> {
  const handle = await open(path)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    return buffer.toString('latin1', 0, bytesRead) === 'PAR1'
  } finally {
    await handle.close()
  }
}

function jsonLinesOf(pieces: AsyncIterable<Uint8Array>): ImportSource {
  let number = 0
  async function* lines() {
    for await (const line of linesIn(pieces, maxLineLength)) {
      number++
      yield line
    }
  }
  return { lines: lines(), at: () => `Line ${number}`, missing: () => 'last line' }
}

/** The files in the order of their kinds in an export, read as one export. */
function parquetOf(paths: readonly string[], folder: string | undefined): ImportSource {
  let location = folder ?? ''
  let missing: string | undefined

  async function* lines(): AsyncGenerator<Buffer> {
    const { openParquet } = await import('./parquet/read.ts')
    const [wanted, read] = [new Set<string>(), new Set<string>()]
    let first: string | undefined
    if (paths.length === 0) throw new ParquetError(`it has none of ${exportKinds.map(nameOf).join(', ')}.`)
    for (const path of paths) {
      const name = basename(path)
      location = name
      const file = await openParquet(path)
      try {
        const { kind, kinds, line, project } = file.head
        if (first === undefined) yield Buffer.from(line)
        first ??= project
        if (project !== first) {
          throw new ParquetError(`it is an export of ${project}, and those before it are of ${first}.`)
        }
        for (const expected of folder === undefined ? [kind] : kinds) wanted.add(expected)
        for await (const text of file.lines((row) => {
          location = `${name}, row ${row}`
        })) {
          yield Buffer.from(text)
        }
        read.add(kind)
      } finally {
        await file.close()
      }
    }
    missing = [...wanted].filter((kind) => !read.has(kind)).map(nameOf)[0]
    if (missing === undefined) yield Buffer.from('{"end":{}}')
  }

  return { lines: lines(), at: () => location, missing: () => missing ?? 'end' }
}
