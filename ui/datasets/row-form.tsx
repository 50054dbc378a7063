import { useState } from 'preact/hooks'
import { Dialog } from '../parts/dialog.tsx'
import { FormFooter } from '../parts/form-footer.tsx'
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
  const [failure, setFailure] = useState<Error>()
  const [isWorking, setWorking] = useState(false)
  const isNew = added.trim() !== '' && fields.every(({ name }) => name !== added.trim())
  const change = (at: number, changes: Partial<RowField>) =>
    setFields(fields.map((field, index) => (index === at ? { ...field, ...changes } : field)))
  const add = () => {
    if (!isNew) return
    setFields([...fields, { name: added.trim(), isText: true, value: '' }])
    setAdded('')
  }
  const save = async () => {
    setWorking(true)
    setFailure(undefined)
    try {
      await onSave(rowAsJson(fields))
    } catch (error) {
      setFailure(error as Error)
      setWorking(false)
    }
  }
  return (
    <Dialog label={label} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (!isWorking) void save()
        }}
      >
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
        <select
          aria-label={`Type of ${name}`}
          value={isText ? 'text' : 'json'}
          onChange={({ currentTarget }) => onChange({ isText: currentTarget.value === 'text' })}
        >
          <option value="text">text</option>
          <option value="json">JSON</option>
        </select>
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
