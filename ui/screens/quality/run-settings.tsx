import { useLayoutEffect, useRef } from 'preact/hooks'
import { FieldRow } from '../play/field-row.tsx'
import { requestFields } from '../play/request-fields.ts'
import { withSetting } from '../play/settings.ts'
import type { RunSettings } from './run-draft.ts'

const common = ['model', 'temperature', 'max_completion_tokens', 'top_p', 'seed']

interface Props {
  /** Distinguishes the fields of the first settings from those of the second. */
  letter: string
  settings: RunSettings
  models: readonly string[]
  /** They were added just now, and differ in nothing yet. */
  isAdded: boolean
  onChange(changes: Partial<RunSettings>): void
  onRemove: (() => void) | undefined
}

/** What answers: the fields of the playground that matter most, and those that were set there. */
export function RunSettingsForm({ letter, settings, models, isAdded, onChange, onRemove }: Props) {
  const { name, system, fields } = settings
  const first = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => {
    if (isAdded) first.current?.focus()
  }, [isAdded])
  const shown = requestFields.filter((field) => common.includes(field.name) || fields.has(field.name))
  return (
    <fieldset class="run-settings">
      <legend>Settings {letter.toUpperCase()}</legend>
      <label for={`settings-name-${letter}`}>Name of settings {letter.toUpperCase()}</label>
      <input
        id={`settings-name-${letter}`}
        maxLength={64}
        value={name}
        onInput={({ currentTarget }) => onChange({ name: currentTarget.value })}
      />
      <label for={`settings-system-${letter}`}>System message {letter.toUpperCase()}</label>
      <textarea
        id={`settings-system-${letter}`}
        rows={2}
        ref={first}
        value={system}
        onInput={({ currentTarget }) => onChange({ system: currentTarget.value })}
      />
      {shown
        .toSorted((a, b) => common.indexOf(a.name) - common.indexOf(b.name))
        .map((field) => (
          <FieldRow
            key={field.name}
            side={letter}
            {...{ field, models }}
            value={fields.get(field.name)}
            wrong={undefined}
            onChange={(json) => onChange({ fields: withSetting(fields, field.name, json) })}
          />
        ))}
      {onRemove && (
        <button type="button" onClick={onRemove}>
          Remove settings {letter.toUpperCase()}
        </button>
      )}
    </fieldset>
  )
}
