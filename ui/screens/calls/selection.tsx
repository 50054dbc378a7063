import { useState } from 'preact/hooks'
import { AddToDataset } from '../../adding/add-to-dataset.tsx'
import { AddToQueue } from '../../adding/add-to-queue.tsx'
import { DataButtons } from '../../export/data-buttons.tsx'
import { AddButtons, addKeys } from '../../parts/add-buttons.tsx'
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { saveAs } from '../../parts/save-as.ts'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { paths } from '../../routes.ts'
import { type CallFormat, type CallsView, deleteCalls, exportCalls, type Part } from '../../server/calls.ts'
import { may } from '../../server/rights.ts'
import { countText } from '../../value/units.ts'
import { csv } from './calls-csv.ts'

export type SelectionFront = 'queue' | 'dataset' | 'delete' | undefined

interface Props {
  view: CallsView
  ids: readonly string[]
  /** The dialog that is open. */
  front: SelectionFront
  setFront(front: SelectionFront): void
  /** Whether the filter has more calls than can be selected. */
  isCut: boolean
  onClear(): void
  onDeleted(): void
}

/** What can be done with the selected calls. */
export function Selection({ view, ids, front, setFront, isCut, onClear, onDeleted }: Props) {
  const what = ids.length === 1 ? '1 call' : `${countText(ids.length)} calls`
  const mayWrite = may('write', view.project)
  useShortcuts('Selected calls', [
    ...addKeys(view.project, setFront),
    ...(mayWrite ? [{ keys: ['Delete'], does: 'Delete', run: () => setFront('delete') }] : []),
    { keys: ['Escape'], does: 'Clear selection', run: onClear },
  ])
  return (
    <div class="selection" role="toolbar" aria-label="Selected calls">
      <strong>{what}</strong>
      {isCut && <span class="muted">the first of this filter</span>}
      <AddButtons project={view.project} add={setFront} />
      <AskAgain view={view} ids={ids} count={ids.length} />
      <Export view={view} ids={ids} />
      <CopyButton text={ids.join('\n')} label="Copy IDs">
        Copy IDs
      </CopyButton>
      {mayWrite && (
        <button type="button" onClick={() => setFront('delete')}>
          Delete
        </button>
      )}
      <button type="button" class="quiet" onClick={onClear}>
        Clear selection
      </button>
      {front === 'queue' && (
        <AddToQueue project={view.project} calls={ids} onClose={() => setFront(undefined)} />
      )}
      {front === 'dataset' && (
        <AddToDataset project={view.project} calls={ids} onClose={() => setFront(undefined)} />
      )}
      {front === 'delete' && (
        <ConfirmDialog
          title={`Delete ${what}?`}
          text="All calls below them are deleted as well. This cannot be undone."
          yes={`Delete ${what}`}
          onYes={async () => {
            await deleteCalls(view.project, ids)
            setFront(undefined)
            onDeleted()
          }}
          onClose={() => setFront(undefined)}
        />
      )}
    </div>
  )
}

const RunAgain = lazy(async () => (await import('../../rerun/dialog.tsx')).RunAgain, { isPart: true })

interface AgainProps {
  view: CallsView
  /** The selected calls; all of the view where none are given. */
  ids?: readonly string[]
  count: number | undefined
}

/** Asks the questions of the view, or of the selected calls, again with other settings. */
export function AskAgain({ view, ids, count }: AgainProps) {
  const [part, setPart] = useState<Part>()
  if (!may('infer', view.project)) return null
  return (
    <>
      <button type="button" onClick={() => setPart(ids ? { ids } : {})}>
        Ask again
      </button>
      {part && <RunAgain {...{ view, part, count }} onClose={() => setPart(undefined)} />}
    </>
  )
}

const jsonl: CallFormat = { type: 'application/jsonl', head: '', lineOf: (json) => `${json}\n` }

/** Downloads whole calls: the selected ones, or all of the view. */
export function Export({ view, ids }: { view: CallsView; ids?: readonly string[] }) {
  return (
    <DataButtons
      save={async (ending, told, signal) => {
        const format = ending === 'jsonl' ? jsonl : csv
        const blob = await exportCalls(view, ids ? { ids } : {}, { format, told }, signal)
        saveAs(blob, `${view.project.replace('/', '-')}-calls.${ending}`)
      }}
    />
  )
}

/** A message for each call that the filter finds. */
export function AlertLink({ project, text }: { project: string; text: string }) {
  if (!may('write', project)) return null
  return (
    <a class="button" title="A message for each such call" href={paths.alerts(project, { new: text || '-' })}>
      Alert
    </a>
  )
}
