import { DataButtons } from '../export/data-buttons.tsx'
import { saveAs } from '../parts/save-as.ts'
import { readRows } from '../server/tables.ts'
import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../value/json-index.ts'
import { csvLine } from './csv.ts'

const rowsAtOnce = 1_000

interface Props {
  project: string
  table: string
  /** Of the file, without its ending. */
  name: string
}

/** All rows of a table as a file, with every digit. */
export function DownloadRows(props: Props) {
  return (
    <DataButtons
      save={async (ending, report, signal) => {
        const rows = await allRows(props, report, signal)
        saveAs(writers[ending](rows), `${props.name}.${ending}`)
      }}
    />
  )
}

async function allRows({ project, table }: Props, report: (count: number) => void, signal: AbortSignal) {
  const rows: JsonNode[] = []
  for (;;) {
    const found = await readRows({ project, table }, { offset: rows.length, limit: rowsAtOnce }, signal)
    for (const { val } of found) rows.push(val)
    report(rows.length)
    if (found.length < rowsAtOnce) return rows
  }
}

const writers = {
  jsonl: (rows: readonly JsonNode[]) =>
    new Blob(
      rows.map((row) => `${sourceOf(row)}\n`),
      { type: 'application/jsonl' },
    ),
  csv: (rows: readonly JsonNode[]) => {
    const names = [...new Set(rows.flatMap((row) => membersOf(row).map(({ name }) => name)))]
    const lines = rows.map((row) => csvLine(names.map((name) => cellOf(nodeAt(row, name)))))
    return new Blob([csvLine(names), ...lines], { type: 'text/csv' })
  },
}

/** Texts as they are, anything else as JSON. */
const cellOf = (node: JsonNode | undefined): string =>
  node === undefined ? '' : (stringOf(node) ?? sourceOf(node))
