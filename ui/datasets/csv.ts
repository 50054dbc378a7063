/**
 * Comma-separated values as RFC 4180 has them, with the separators that spreadsheets write: comma, semicolon, tab.
 * Lines are counted as an editor counts them, for messages.
 */

interface CsvRow {
  line: number
  cells: string[]
}

export interface CsvTable {
  header: string[]
  rows: CsvRow[]
}

const separators = [',', ';', '\t']

/** The one that occurs most in the first line, outside of quotes. */
function separatorOf(text: string): string {
  const end = text.search(/[\r\n]/)
  const bare = (end === -1 ? text : text.slice(0, end)).replace(/"[^"]*"/g, '')
  const count = (separator: string) => bare.split(separator).length
  return separators.reduce((best, separator) => (count(separator) > count(best) ? separator : best))
}

export function readCsv(text: string): CsvTable {
  const separator = separatorOf(text)
  const all = rowsOf(text, separator)
  const [header, ...rows] = all
  if (header === undefined) throw new Error('The file is empty.')
  for (const { line, cells } of rows) {
    if (cells.length !== header.cells.length) {
      throw new Error(`Line ${line} has ${cells.length} values, the first line ${header.cells.length}.`)
    }
  }
  return { header: header.cells, rows }
}

function rowsOf(text: string, separator: string): CsvRow[] {
  const rows: CsvRow[] = []
  let line = 1
  let at = 0
  while (at < text.length) {
    const row: CsvRow = { line, cells: [] }
    for (;;) {
      const cell = text[at] === '"' ? quotedCell(text, at, line) : plainCell(text, at, separator)
      row.cells.push(cell.value)
      line += cell.lines
      at = cell.end
      if (text[at] !== separator) break
      at += 1
    }
    const isEmpty = row.cells.length === 1 && row.cells[0] === ''
    if (!isEmpty) rows.push(row)
    if (text[at] === '\r') at += 1
    if (text[at] === '\n') at += 1
    line += 1
  }
  return rows
}

interface Cell {
  value: string
  /** Where its separator or the end of its line is. */
  end: number
  /** Line breaks inside it. */
  lines: number
}

function plainCell(text: string, from: number, separator: string): Cell {
  let end = from
  while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end += 1
  return { value: text.slice(from, end), end, lines: 0 }
}

function quotedCell(text: string, from: number, line: number): Cell {
  let value = ''
  let at = from + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote === -1) throw new Error(`Line ${line}: a quote is opened and never closed.`)
    value += text.slice(at, quote)
    at = quote + 1
    if (text[at] !== '"') break
    value += '"'
    at += 1
  }
  return { value, end: at, lines: value.split('\n').length - 1 }
}

/** Spreadsheets run what begins so as a formula (https://owasp.org/www-community/attacks/CSV_Injection). */
const formula = /^[=+\-@\t\r]/
const plainNumber = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i

/** A line of the file. Texts that a spreadsheet would run get an apostrophe in front. */
export function csvLine(cells: readonly string[]): string {
  const written = cells.map((cell) => {
    const safe = formula.test(cell) && !plainNumber.test(cell) ? `'${cell}` : cell
    return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  })
  return `${written.join(',')}\r\n`
}
