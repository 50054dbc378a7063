interface Props<Value extends string> {
  id?: string
  'aria-label'?: string
  autofocus?: boolean
  disabled?: boolean
  /** Values and their texts. */
  choices: Readonly<Record<Value, string>>
  value: Value
  onChange(value: Value): void
}

/** Chooses one of a few values. */
export function Select<Value extends string>({ choices, onChange, ...rest }: Props<Value>) {
  return (
    <select {...rest} onChange={({ currentTarget }) => onChange(currentTarget.value as Value)}>
      {Object.entries(choices).map(([value, text]) => (
        <option key={value} value={value}>
          {text as string}
        </option>
      ))}
    </select>
  )
}
