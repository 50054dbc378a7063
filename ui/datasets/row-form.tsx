import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { FormFooter } from '../parts/form-footer.tsx'
import { Select } from '../parts/select.tsx'
import { ownSubmit, useWork } from '../parts/work.ts'
import { type RowField, rowAsJson } from './row-fields.ts'

interface Props {
  label: string
  fields: readonly RowField[]
  /** Receives the row as JSON. */
  onSave(row: string): Promise<void>
  onClose(): void
}

/** The fields of one row of a dataset, each as text or as JSON. */
export function RowForm({ label, fields: first, onSave, onClose }: Props) {
  const [fields, setFields] = useState(first)
  const [added, setAdded] = useState('')
  const { isWorking, failure, work } = useWork()
  const isNew = added.trim() !== '' && fields.every(({ name }) => name !== added.trim())
  const change = (at: number, changes: Partial<RowField>) =>
    setFields(fields.map((field, index) => (index === at ? { ...field, ...changes } : field)))
  const add = () => {
    if (!isNew) return
    setFields([...fields, { name: added.trim(), isText: true, value: '' }])
    setAdded('')
  }
  return (
    <Dialog label={label} onClose={onClose}>
      <form class="form" onSubmit={ownSubmit(() => !isWorking && work(() => onSave(rowAsJson(fields))))}>
        {fields.map((field, index) => (
          <Field key={field.name} {...field} isFirst={index === 0} onChange={(to) => change(index, to)} />
        ))}
        <div class="in-line">
          <input
            aria-label="Name of a new field"
            placeholder="Another field"
            value={added}
            onInput={({ currentTarget }) => setAdded(currentTarget.value)}
          />
          <button type="button" disabled={!isNew} onClick={add}>
            Add field
          </button>
        </div>
        <p class="muted">
          A field of JSON that is empty is left out. Saving makes a new version; earlier ones stay.
        </p>
        <FormFooter {...{ failure, onClose }} canSubmit={fields.length > 0 && !isWorking}>
          Save
        </FormFooter>
      </form>
    </Dialog>
  )
}

function Field(props: RowField & { isFirst: boolean; onChange(changes: Partial<RowField>): void }) {
  const { name, isText, value, isFirst, onChange } = props
  const lines = value.split('\n').length + Math.floor(value.length / 80)
  return (
    <>
      <div class="in-line">
        <code>{name}</code>
        <Select
          aria-label={`Type of ${name}`}
          choices={{ text: 'text', json: 'JSON' }}
          value={isText ? 'text' : 'json'}
          onChange={(type) => onChange({ isText: type === 'text' })}
        />
      </div>
      <textarea
        aria-label={name}
        autofocus={isFirst}
        rows={Math.min(12, lines)}
        spellcheck={isText}
        dir="auto"
        value={value}
        onInput={({ currentTarget }) => onChange({ value: currentTarget.value })}
      />
    </>
  )
}
