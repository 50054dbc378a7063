import { FieldRow } from '../play/field-row.tsx'
import { requestFields } from '../play/request-fields.ts'
import { withSetting } from '../play/settings.ts'
import type { RunSettings } from './run-draft.ts'

const common = ['model', 'temperature', 'max_completion_tokens', 'top_p', 'seed']

interface Props {
  /** Distinguishes the fields of the first settings from those of the second. */
  side: string
  settings: RunSettings
  models: readonly string[]
  onChange(changes: Partial<RunSettings>): void
  onRemove: (() => void) | undefined
}

/** What answers: the fields of the playground that matter most, and those that were set there. */
export function RunSettingsForm({ side, settings, models, onChange, onRemove }: Props) {
  const { name, system, fields } = settings
  const shown = requestFields.filter((field) => common.includes(field.name) || fields.has(field.name))
  return (
    <fieldset class="run-settings">
      <legend>Settings {side.toUpperCase()}</legend>
      <label for={`settings-name-${side}`}>Name of settings {side.toUpperCase()}</label>
      <input
        id={`settings-name-${side}`}
        maxLength={64}
        value={name}
        onInput={({ currentTarget }) => onChange({ name: currentTarget.value })}
      />
      <label for={`settings-system-${side}`}>System message {side.toUpperCase()}</label>
      <textarea
        id={`settings-system-${side}`}
        rows={2}
        value={system}
        onInput={({ currentTarget }) => onChange({ system: currentTarget.value })}
      />
      {shown
        .toSorted((one, other) => common.indexOf(one.name) - common.indexOf(other.name))
        .map((field) => (
          <FieldRow
            key={field.name}
            {...{ field, side, models }}
            value={fields.get(field.name)}
            wrong={undefined}
            onChange={(json) => onChange({ fields: withSetting(fields, field.name, json) })}
          />
        ))}
      {onRemove && (
        <button type="button" onClick={onRemove}>
          Remove settings {side.toUpperCase()}
        </button>
      )}
    </fieldset>
  )
}
