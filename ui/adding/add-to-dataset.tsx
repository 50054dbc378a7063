import { useLayoutEffect, useState } from 'preact/hooks'
import { transcriptOf } from '../../packages/conversations/index.ts'
import { readPayloads } from '../server/calls.ts'
import { type Column, rowOf } from '../server/datasets.ts'
import { useLoading } from '../server/loading.ts'
import { type JsonNode, jsonNode, membersOf, nodeAt } from '../value/json-index.ts'
import { conversationIn } from '../value/messages.ts'
import { countText } from '../value/units.ts'
import { DatasetDialog } from './dataset-dialog.tsx'

/** Calls that are read in one request. */
const callsAtOnce = 100
const maxColumns = 40

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

/** Deeper values are members of others. */
const maxDepth = 4

/**
 * What a column can be filled from, ticked where most calls have it: of conversations the last question and the answer's
 * text, of other calls the values inside inputs and output. Whole bodies and rarer values are offered.
 */
function columnsOf(calls: readonly JsonNode[]): Column[] {
  const transcripts = calls.map((call) => {
    const conversation = conversationIn(call)
    return conversation && transcriptOf(conversation)
  })
  const most = (count: number) => count > calls.length / 2
  const texts = (['question', 'answer'] as const).flatMap((name) => {
    const count = transcripts.filter((transcript) => transcript?.[name] !== undefined).length
    return count === 0 ? [] : [{ path: ['conversation', name], isTaken: most(count) }]
  })
  const hasText = (name: string) => texts.some(({ path, isTaken }) => isTaken && path[1] === name)
  const hasTexts = { inputs: hasText('question'), output: hasText('answer') }
  const found = new Map<string, { path: readonly string[]; count: number; isWhole: boolean }>()
  const add = (node: JsonNode, path: readonly string[]): void => {
    const isWhole = node.kind === 'object' || node.kind === 'array'
    const key = JSON.stringify(path)
    const known = found.get(key)
    if (known === undefined) found.set(key, { path, count: 1, isWhole })
    else found.set(key, { path, count: known.count + 1, isWhole: known.isWhole || isWhole })
    if (node.kind !== 'object' || path.length >= maxDepth) return
    for (const { name, node: member } of membersOf(node)) add(member, [...path, name])
  }
  for (const call of calls) {
    for (const { name, node } of membersOf(nodeAt(call, 'inputs') ?? jsonNode('{}')))
      add(node, ['inputs', name])
    const output = nodeAt(call, 'output')
    if (output !== undefined && output.kind !== 'null') add(output, ['output'])
  }
  const sources = [...found.values()].map(({ path, count, isWhole }) => ({
    path,
    isTaken: !hasTexts[path[0] as 'inputs' | 'output'] && !isWhole && most(count),
  }))
  const shown = [...texts, ...sources]
    .toSorted((a, b) => Number(b.isTaken) - Number(a.isTaken))
    .slice(0, maxColumns)
  const names = new Set<string>()
  return shown.map(({ path, isTaken }) => {
    const last = path.at(-1) as string
    const name = names.has(last) ? path.join('_') : last
    names.add(name)
    return { path, name, isTaken }
  })
}
