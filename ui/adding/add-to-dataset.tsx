import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { FormFooter } from '../parts/form-footer.tsx'
import { Failed, Skeleton } from '../parts/states.tsx'
import { paths } from '../routes.ts'
import { readPayloads } from '../server/calls.ts'
import { addRows, type Column, makeDataset, readDatasets, rowOf } from '../server/datasets.ts'
import { useLoading } from '../server/loading.ts'
import { type JsonNode, membersOf, nodeAt } from '../value/json-index.ts'
import { conversationIn } from '../value/messages.ts'
import { countText } from '../value/units.ts'
import { AddedDialog } from './done-adding.tsx'

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
  return { found, datasets: await readDatasets(project, signal) }
}

/** Adds rows made from calls to an existing or a new dataset. */
export function AddToDataset({ project, calls, onClose }: Props) {
  const { value, error, reload } = useLoading(
    (signal) => readAll(project, calls, signal),
    [project, calls.join()],
  )
  const [dataset, setDataset] = useState('')
  const [name, setName] = useState('')
  const [columns, setColumns] = useState<readonly Column[]>([])
  const [failure, setFailure] = useState<Error>()
  const [isWorking, setWorking] = useState(false)
  const [done, setDone] = useState<string>()
  const first = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    setColumns(columnsOf(value?.found ?? []))
    // It does not exist yet when the dialog opens, and takes only the focus of the skeleton: a user may have gone on.
    if (document.activeElement === document.body) first.current?.focus()
  }, [value])
  const title = `Add ${calls.length === 1 ? 'this call' : `${countText(calls.length)} calls`} to a dataset`
  const change = (at: number, changes: Partial<Column>) =>
    setColumns(columns.map((column, index) => (index === at ? { ...column, ...changes } : column)))
  const taken = columns.filter(({ isTaken, name: column }) => isTaken && column.trim() !== '')
  const isTwice = new Set(taken.map(({ name: column }) => column.trim())).size < taken.length
  const isReady =
    value !== undefined && taken.length > 0 && !isTwice && (dataset !== '' || name.trim() !== '')
  const add = async () => {
    if (!isReady || isWorking) return
    setWorking(true)
    try {
      const rows = value.found.map((call) => rowOf(call, columns))
      const made = dataset === '' ? makeDataset(project, name.trim(), rows) : addRows(project, dataset, rows)
      setDone((await made).object_id)
    } catch (given) {
      setFailure(given as Error)
    }
    setWorking(false)
  }
  if (done !== undefined) {
    return (
      <AddedDialog
        label={title}
        text={`${rowsText(value?.found.length ?? 0)} added.`}
        to={{ name: done, href: paths.object(project, done) }}
        onClose={onClose}
      />
    )
  }
  return (
    <Dialog label={title} onClose={onClose}>
      {error && <Failed error={error} retry={reload} />}
      {!error && value === undefined && <Skeleton rows={4} autofocus />}
      {value && (
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault()
            void add()
          }}
        >
          <label for="dataset">Dataset</label>
          <select
            id="dataset"
            value={dataset}
            onChange={({ currentTarget }) => setDataset(currentTarget.value)}
          >
            <option value="">New dataset</option>
            {value.datasets.map(({ object_id: id }) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </select>
          {dataset === '' && (
            <>
              <label for="dataset-name">Dataset name</label>
              <input
                id="dataset-name"
                ref={first}
                maxLength={128}
                value={name}
                onInput={({ currentTarget }) => setName(currentTarget.value)}
              />
            </>
          )}
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
          {value.found.length < calls.length && (
            <p class="muted">
              {countText(calls.length - value.found.length)} of the calls no longer exist: deleted or expired.
            </p>
          )}
          <FormFooter {...{ failure, onClose }} canSubmit={isReady && !isWorking}>
            Add {rowsText(value.found.length)}
          </FormFooter>
        </form>
      )}
    </Dialog>
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

const rowsText = (count: number): string => (count === 1 ? '1 row' : `${countText(count)} rows`)
