import { useState } from 'preact/hooks'
import { AddedDialog } from '../adding/done-adding.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { FormFooter } from '../parts/form-footer.tsx'
import { Select } from '../parts/select.tsx'
import { ownSubmit, useWork } from '../parts/work.ts'
import { paths } from '../routes.ts'
import { makeDataset } from '../server/datasets.ts'
import { countOf } from '../value/units.ts'
import {
  type ColumnType,
  decoded,
  type FileColumn,
  type FileRows,
  maxFileBytes,
  rowsAsJson,
  rowsOfFile,
} from './rows-of-file.ts'

const types: Record<ColumnType, string> = { text: 'text', number: 'number', json: 'JSON' }
const maxShown = 3

/** Makes a dataset of a file with comma-separated values or JSON. */
export function UploadDataset({ project, onClose }: { project: string; onClose(): void }) {
  const [file, setFile] = useState<FileRows>()
  const [name, setName] = useState('')
  const { isWorking, failure, work } = useWork()
  const [made, setMade] = useState<{ id: string; count: number }>()
  const title = 'Dataset from a file'
  const read = async (chosen: File | undefined) => {
    setFile(undefined)
    if (chosen === undefined) return
    if (chosen.size > maxFileBytes)
      throw new Error('Files of up to 20 MB can be read here. Use the API for more.')
    setFile(rowsOfFile(decoded(new Uint8Array(await chosen.arrayBuffer()))))
    setName((current) => current || chosen.name.replace(/\.\w+$/, ''))
  }
  const create = async (rows: FileRows) => {
    const json = rowsAsJson(rows)
    const { object_id: id } = await makeDataset(project, name.trim(), json)
    setMade({ id, count: json.length })
  }
  if (made !== undefined) {
    const to = { name: made.id, href: paths.object(project, made.id) }
    return <AddedDialog label={title} text={`${countOf(made.count, 'row')}.`} {...{ to, project, onClose }} />
  }
  const columns = file?.kind === 'table' ? file.columns : []
  const names = columns.filter(({ isTaken }) => isTaken).map(({ name: column }) => column.trim())
  const isTwice = new Set(names).size < names.length
  const hasColumns = file?.kind !== 'table' || (names.length > 0 && !names.includes('') && !isTwice)
  const count = file?.kind === 'table' ? file.table.rows.length : (file?.rows.length ?? 0)
  const change = (at: number, changes: Partial<FileColumn>) =>
    file?.kind === 'table' &&
    setFile({ ...file, columns: columns.map((column, n) => (n === at ? { ...column, ...changes } : column)) })
  return (
    <Dialog label={title} onClose={onClose}>
      <form class="form" onSubmit={ownSubmit(() => file && !isWorking && work(() => create(file)))}>
        <label for="dataset-file">CSV, JSON Lines or a JSON list</label>
        <input
          id="dataset-file"
          type="file"
          autofocus
          accept=".csv,.tsv,.txt,.json,.jsonl,.ndjson"
          onChange={({ currentTarget }) => void work(() => read(currentTarget.files?.[0]))}
        />
        <label for="dataset-name">Dataset name</label>
        <input
          id="dataset-name"
          maxLength={128}
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
        {file?.kind === 'table' && (
          <fieldset class="specs">
            <legend>Columns</legend>
            {columns.map((column, at) => (
              <Column
                key={at}
                header={file.table.header[at] || `column ${at + 1}`}
                sample={file.table.rows.slice(0, maxShown).map(({ cells }) => cells[at] ?? '')}
                column={column}
                onChange={(changes) => change(at, changes)}
              />
            ))}
          </fieldset>
        )}
        {file?.kind === 'json' && (
          <pre class="clipped">{file.rows.slice(0, maxShown).map((row) => `${row.slice(0, 200)}\n`)}</pre>
        )}
        {isTwice && <p class="problem">Two columns have the same name.</p>}
        <p class="muted">A dataset of that name gets a new version with these rows.</p>
        <FormFooter
          {...{ failure, onClose }}
          canSubmit={file !== undefined && hasColumns && name.trim() !== '' && !isWorking}
        >
          {count === 0 ? 'Create' : `Create with ${countOf(count, 'row')}`}
        </FormFooter>
      </form>
    </Dialog>
  )
}

interface ColumnProps {
  header: string
  /** Its first values. */
  sample: readonly string[]
  column: FileColumn
  onChange(changes: Partial<FileColumn>): void
}

function Column({ header, sample, column, onChange }: ColumnProps) {
  return (
    <div class="in-line">
      <label class="check" title={sample.join('\n')}>
        <input
          type="checkbox"
          checked={column.isTaken}
          onChange={({ currentTarget }) => onChange({ isTaken: currentTarget.checked })}
        />
        <code class="clipped">{header}</code>
      </label>
      <input
        aria-label={`Column of ${header}`}
        disabled={!column.isTaken}
        value={column.name}
        onInput={({ currentTarget }) => onChange({ name: currentTarget.value })}
      />
      <Select
        aria-label={`Type of ${header}`}
        disabled={!column.isTaken}
        choices={types}
        value={column.type}
        onChange={(type) => onChange({ type })}
      />
    </div>
  )
}
