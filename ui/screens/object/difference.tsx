import { useMemo, useState } from 'preact/hooks'
import { ShowMore } from '../../parts/show-more.tsx'
import { Failed, Skeleton } from '../../parts/states.tsx'
import { tableOf } from '../../server/datasets.ts'
import { useLoading } from '../../server/loading.ts'
import { type ObjectRead, readObject } from '../../server/objects.ts'
import { countRows, readRows, type TableRow } from '../../server/tables.ts'
import { type JsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../../value/json-index.ts'
import { JsonTree } from '../../value/json-tree.tsx'
import { messageChanges } from '../../value/message-changes.ts'
import { MessageChanges } from '../../value/message-changes-list.tsx'
import { countText } from '../../value/units.ts'
import { WordDiff } from '../../value/word-diff-text.tsx'
import { type RowChange, rowChanges } from './row-changes.ts'

/** Rows that are compared in each version. */
const mostCompared = 10_000
const rowsAtOnce = 1_000
const pageSize = 50

interface Side {
  count: number
  rows: TableRow[]
}

async function readSide(project: string, table: string, signal: AbortSignal): Promise<Side> {
  const count = await countRows(project, table, signal)
  const rows: TableRow[] = []
  while (rows.length < Math.min(count, mostCompared)) {
    const page = { offset: rows.length, limit: rowsAtOnce }
    const found = await readRows({ project, table }, page, signal)
    if (found.length === 0) break
    rows.push(...found)
  }
  return { count, rows }
}

async function readBoth(project: string, base: string, shown: ObjectRead, signal: AbortSignal) {
  const before = await readObject(project, shown.object_id, base, signal)
  const [old, fresh] = [tableOf(before.val), tableOf(shown.val)]
  if (old === undefined || fresh === undefined) return { before, sides: undefined }
  const sides = await Promise.all([
    readSide(old.project, old.table, signal),
    readSide(fresh.project, fresh.table, signal),
  ])
  return { before, sides }
}

/** The changes from one version to another. */
export function Difference({ project, base, shown }: { project: string; base: string; shown: ObjectRead }) {
  const { value, error, reload } = useLoading(
    (signal) => readBoth(project, base, shown, signal),
    [project, base, shown.digest],
  )
  if (error) return <Failed error={error} retry={reload} />
  if (value === undefined) return <Skeleton rows={8} />
  const { before, sides } = value
  return (
    <div class="object-value" tabIndex={0} role="region" aria-label="Difference">
      <h2>
        From {base} to v{shown.version_index}
      </h2>
      {sides === undefined ? (
        <Members before={before.val} after={shown.val} />
      ) : (
        <RowChanges old={sides[0]} fresh={sides[1]} />
      )}
    </div>
  )
}

function RowChanges({ old, fresh }: { old: Side; fresh: Side }) {
  const changes = useMemo(() => rowChanges(old.rows, fresh.rows), [old, fresh])
  const [shown, setShown] = useState(pageSize)
  const count = (kind: RowChange<TableRow>['kind']) =>
    countText(changes.filter((one) => one.kind === kind).length)
  const isPart = old.count > old.rows.length || fresh.count > fresh.rows.length
  return (
    <>
      <p role="status">
        Rows: {count('added')} added, {count('removed')} removed, {count('changed')} changed;{' '}
        {countText(old.count)} before, {countText(fresh.count)} now.
        {isPart && ` Only the first ${countText(mostCompared)} rows of each are compared.`}
      </p>
      <ol class="row-changes">
        {changes.slice(0, shown).map((change, index) => (
          <li key={index} data-kind={change.kind}>
            <h3>{titleOf(change)}</h3>
            {change.kind === 'changed' ? (
              <Members before={change.before.val} after={change.after.val} />
            ) : (
              <JsonTree node={change.kind === 'added' ? change.after.val : change.before.val} />
            )}
          </li>
        ))}
      </ol>
      {changes.length > shown && (
        <p>
          <ShowMore shown={shown} count={changes.length} onShow={setShown} />
        </p>
      )}
    </>
  )
}

function titleOf(change: RowChange<TableRow>): string {
  if (change.kind === 'removed') return `Row ${countText(change.before.index + 1)} removed`
  return `Row ${countText(change.after.index + 1)} ${change.kind}`
}

/** The members that differ, word by word. */
function Members({ before, after }: { before: JsonNode; after: JsonNode }) {
  if (before.kind !== 'object' || after.kind !== 'object') {
    return <WordDiff before={textOf(before)} after={textOf(after)} />
  }
  const names = new Set([...membersOf(before), ...membersOf(after)].map(({ name }) => name))
  const changed = [...names].flatMap((name) => {
    const [old, fresh] = [nodeAt(before, name), nodeAt(after, name)]
    return textOf(old) === textOf(fresh) ? [] : [{ name, old, fresh }]
  })
  if (changed.length === 0) return <p class="muted">No changes.</p>
  return (
    <dl class="members">
      {changed.map(({ name, old, fresh }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Changed before={old} after={fresh} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

interface ChangedProps {
  before: JsonNode | undefined
  after: JsonNode | undefined
}

/** Conversations are compared message by message, everything else as text. */
function Changed({ before, after }: ChangedProps) {
  const messages = useMemo(() => messageChanges(before, after), [before, after])
  if (messages !== undefined) return <MessageChanges changes={messages} />
  return <WordDiff before={textOf(before)} after={textOf(after)} />
}

const textOf = (node: JsonNode | undefined): string =>
  node === undefined ? '' : (stringOf(node) ?? sourceOf(node))
