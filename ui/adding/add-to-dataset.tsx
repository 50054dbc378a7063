import { useLayoutEffect, useState } from 'preact/hooks'
import { readPayloads } from '../server/calls.ts'
import { type Column, rowOf } from '../server/datasets.ts'
import { useLoading } from '../server/loading.ts'
import { type JsonNode, membersOf, nodeAt } from '../value/json-index.ts'
import { conversationIn } from '../value/messages.ts'
import { countText } from '../value/units.ts'
import { DatasetDialog } from './dataset-dialog.tsx'

/** Calls that are read in one request. */
const callsAtOnce = 100
const mostColumns = 40

interface Props {
  project: string
  /** Ids of the calls. */
  calls: readonly string[]
  onClose(): void
}

async function readAll(project: string, calls: readonly string[], signal: AbortSignal) {
  const found: JsonNode[] = []
  for (let from = 0; from < calls.length; from += callsAtOnce) {
    const ids = calls.slice(from, from + callsAtOnce)
    const payloads = await readPayloads(project, ids, signal)
    found.push(...ids.flatMap((id) => payloads.get(id) ?? []))
  }
  return found
}

/** Adds rows made from calls to an existing or a new dataset. */
export function AddToDataset({ project, calls, onClose }: Props) {
  const {
    value: found,
    error,
    reload,
  } = useLoading((signal) => readAll(project, calls, signal), [project, calls.join()])
  const [columns, setColumns] = useState<readonly Column[]>([])
  useLayoutEffect(() => setColumns(columnsOf(found ?? [])), [found])
  const change = (at: number, changes: Partial<Column>) =>
    setColumns(columns.map((column, index) => (index === at ? { ...column, ...changes } : column)))
  const taken = columns.filter(({ isTaken, name: column }) => isTaken && column.trim() !== '')
  const isTwice = new Set(taken.map(({ name: column }) => column.trim())).size < taken.length
  return (
    <DatasetDialog
      {...{ project, error, reload, onClose }}
      label={`Add ${calls.length === 1 ? 'this call' : `${countText(calls.length)} calls`} to a dataset`}
      count={found?.length}
      rows={() => found?.map((call) => rowOf(call, columns)) ?? []}
      isReady={taken.length > 0 && !isTwice}
    >
      <fieldset class="specs">
        <legend>Columns</legend>
        {columns.map(({ path, name: column, isTaken }, index) => {
          const from = path.join('.')
          return (
            <div key={from} class="in-line">
              <label class="check" title={from}>
                <input
                  type="checkbox"
                  checked={isTaken}
                  onChange={({ currentTarget }) => change(index, { isTaken: currentTarget.checked })}
                />
                <code class="clipped">{from}</code>
              </label>
              <input
                aria-label={`Column of ${from}`}
                disabled={!isTaken}
                value={column}
                onInput={({ currentTarget }) => change(index, { name: currentTarget.value })}
              />
            </div>
          )
        })}
      </fieldset>
      {isTwice && <p class="problem">Two columns have the same name.</p>}
      {found !== undefined && found.length < calls.length && (
        <p class="muted">
          {countText(calls.length - found.length)} of the calls no longer exist: deleted or expired.
        </p>
      )}
    </DatasetDialog>
  )
}

/** One column for each input of the calls and one for their output; texts of conversations if they are chosen. */
function columnsOf(calls: readonly JsonNode[]): Column[] {
  const names = new Set<string>()
  for (const call of calls) {
    const inputs = nodeAt(call, 'inputs')
    if (inputs === undefined) continue
    for (const { name } of membersOf(inputs)) if (names.size < mostColumns) names.add(name)
  }
  return [
    ...[...names].map((name) => ({ path: ['inputs', name], name, isTaken: true })),
    { path: ['output'], name: names.has('output') ? 'answer' : 'output', isTaken: true },
    ...(calls.some(conversationIn)
      ? ['question', 'answer'].map((name) => ({ path: ['conversation', name], name, isTaken: false }))
      : []),
  ]
}
