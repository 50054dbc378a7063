import { ConfirmDialog } from '../parts/confirm-dialog.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { addRows, changeRow, describeDataset } from '../server/datasets.ts'
import type { ObjectVersion } from '../server/objects.ts'
import type { TableRow } from '../server/tables.ts'
import { countText } from '../value/units.ts'
import { emptyFields, fieldsOfRow } from './row-fields.ts'
import { RowForm } from './row-form.tsx'

/** What a user is about to change in a dataset. */
export type RowChange =
  | { what: 'edit' | 'delete'; row: TableRow }
  /** With the types of the fields of a row. */
  | { what: 'add'; columns: readonly string[]; like: TableRow | undefined }
  | { what: 'describe' }

interface Props {
  project: string
  /** The version that is shown. */
  dataset: ObjectVersion
  description: string | undefined
  change: RowChange
  onChanged(): void
  onClose(): void
}

/** Writes the next version of a dataset. */
export function ChangeDialog({ project, dataset, description, change, onChanged, onClose }: Props) {
  const then = async (written: Promise<unknown>) => {
    await written
    onClose()
    onChanged()
  }
  if (change.what === 'describe') {
    return (
      <FormDialog
        title="Description of the dataset"
        fields={() => ({ text: { label: 'Description', mayBeEmpty: true } })}
        first={{ text: description ?? '' }}
        submit="Save"
        onSubmit={({ text }) => then(describeDataset(project, dataset, text))}
        onClose={onClose}
      />
    )
  }
  if (change.what === 'add') {
    return (
      <RowForm
        label="Add a row"
        fields={emptyFields(change.columns, change.like?.val)}
        onSave={(row) => then(addRows(project, dataset.object_id, [row]))}
        onClose={onClose}
      />
    )
  }
  const { index, val } = change.row
  const title = `row ${countText(index + 1)}`
  return change.what === 'edit' ? (
    <RowForm
      label={`Change ${title}`}
      fields={fieldsOfRow(val)}
      onSave={(row) => then(changeRow(project, dataset, index, row))}
      onClose={onClose}
    />
  ) : (
    <ConfirmDialog
      title={`Delete ${title}?`}
      text="A new version is made without it. Earlier versions keep it."
      yes="Delete"
      onYes={() => then(changeRow(project, dataset, index))}
      onClose={onClose}
    />
  )
}
