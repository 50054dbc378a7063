import { useRef, useState } from 'preact/hooks'
import { saveAs } from '../parts/save-as.ts'
import { readRows } from '../server/tables.ts'
import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../value/json-index.ts'
import { countText } from '../value/units.ts'
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
  const running = useRef<AbortController>(undefined)
  const [state, setState] = useState<{ count: number } | { failure: string }>()
  const run = async (ending: keyof typeof writers) => {
    const controller = new AbortController()
    running.current = controller
    setState({ count: 0 })
    try {
      const rows = await allRows(props, (count) => setState({ count }), controller.signal)
      saveAs(writers[ending](rows), `${props.name}.${ending}`)
      setState(undefined)
    } catch (error) {
      setState(controller.signal.aborted ? undefined : { failure: (error as Error).message })
    }
  }
  if (state !== undefined && 'count' in state) {
    return (
      <button type="button" onClick={() => running.current?.abort()}>
        Stop at {countText(state.count)}
      </button>
    )
  }
  return (
    <>
      <button type="button" aria-label="Export JSONL" onClick={() => void run('jsonl')}>
        JSONL
      </button>
      <button type="button" aria-label="Export CSV" onClick={() => void run('csv')}>
        CSV
      </button>
      {state !== undefined && (
        <span class="problem" role="alert">
          {state.failure}
        </span>
      )}
    </>
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
