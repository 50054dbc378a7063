import { jsonNode, membersOf, sourceOf } from '../value/json-index.ts'
import { type CsvTable, readCsv } from './csv.ts'

/** How the texts of a column become JSON. Texts stay texts unless the user says otherwise: 007, 1e5 and long digits survive. */
export type ColumnType = 'text' | 'number' | 'json'

export interface FileColumn {
  name: string
  type: ColumnType
  isTaken: boolean
}

/** What a file has: a table whose columns are chosen, or rows that are JSON already. */
export type FileRows =
  | { kind: 'table'; table: CsvTable; columns: FileColumn[] }
  | { kind: 'json'; rows: string[] }

export const maxFileBytes = 20 * 1024 * 1024
const maxRows = 100_000

/** A first byte pair says which encoding; without it the file has to be UTF-8. */
export function decoded(bytes: Uint8Array): string {
  const [first, second] = bytes
  const encoding =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    throw new Error('The file is no text in UTF-8 or UTF-16. Save it as UTF-8.')
  }
}

export function rowsOfFile(text: string): FileRows {
  const found = /^\s*[[{]/.test(text) ? jsonRows(text) : tableRows(text)
  const count = found.kind === 'json' ? found.rows.length : found.table.rows.length
  if (count === 0) throw new Error('The file has no rows.')
  if (count > maxRows) throw new Error(`The file has ${count} rows, a dataset made here at most ${maxRows}.`)
  return found
}

function tableRows(text: string): FileRows {
  const table = readCsv(text)
  const columns = table.header.map((name, at): FileColumn => {
    return { name: name.trim() || `column ${at + 1}`, type: 'text', isTaken: true }
  })
  return { kind: 'table', table, columns }
}

/** JSON Lines, or one list of objects. Rows are the bytes of the file, so every digit stays. */
function jsonRows(text: string): FileRows {
  if (text.trimStart().startsWith('[')) {
    parsed(text, 'The file')
    const rows = [...membersOf(jsonNode(text.trim()))].map(({ node }, at) =>
      objectText(sourceOf(node), `Entry ${at + 1}`),
    )
    return { kind: 'json', rows }
  }
  const rows = text
    .split('\n')
    .flatMap((line, at) => (line.trim() === '' ? [] : [objectText(line.trim(), `Line ${at + 1}`)]))
  return { kind: 'json', rows }
}

function objectText(text: string, where: string): string {
  const value = parsed(text, where)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${where} is no JSON object.`)
  }
  return text
}

function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${where} is no JSON: ${(error as Error).message}`)
  }
}

/** The rows as JSON. Throws an error that names the line and the column of a value that does not fit. */
export function rowsAsJson(file: FileRows): string[] {
  if (file.kind === 'json') return file.rows
  const { table, columns } = file
  return table.rows.map(({ line, cells }) => {
    const members = columns.flatMap(({ name, type, isTaken }, at) => {
      const cell = cells[at] ?? ''
      // An empty number is missing, an empty text is a text.
      if (!isTaken || (type !== 'text' && cell.trim() === '')) return []
      return [`${JSON.stringify(name)}:${cellAsJson(cell, type, `Line ${line}, ${name}`)}`]
    })
    return `{${members.join(',')}}`
  })
}

function cellAsJson(cell: string, type: ColumnType, where: string): string {
  if (type === 'text') return JSON.stringify(cell)
  const text = cell.trim()
  if (type === 'number' && !/^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i.test(text)) {
    throw new Error(`${where}: “${text.slice(0, 40)}” is no number.`)
  }
  parsed(text, where)
  return text
}
