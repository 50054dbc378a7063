interface Props {
  label?: string
  /** What may be entered, if not a name alone. */
  example?: string
  isWrong?: boolean
  wanted: string
  onChange(wanted: string): void
}

/** Leaves of a list what has a text in its name. Enter does not send the form around it. */
export function NameFilter(props: Props) {
  const { label = 'Filter by name', example = label, isWrong = false, wanted, onChange } = props
  return (
    <input
      type="search"
      aria-label={label}
      aria-invalid={isWrong}
      placeholder={example}
      title={example}
      value={wanted}
      onInput={({ currentTarget }) => onChange(currentTarget.value)}
      onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
    />
  )
}

export const isNamed = (name: string, wanted: string): boolean =>
  name.toLowerCase().includes(wanted.trim().toLowerCase())
