interface Props {
  wanted: string
  onChange(wanted: string): void
}

/** Leaves of a list what has a text in its name. Enter does not send the form around it. */
export function NameFilter({ wanted, onChange }: Props) {
  return (
    <input
      type="search"
      aria-label="Filter by name"
      placeholder="Filter by name"
      value={wanted}
      onInput={({ currentTarget }) => onChange(currentTarget.value)}
      onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
    />
  )
}

export const isNamed = (name: string, wanted: string): boolean =>
  name.toLowerCase().includes(wanted.trim().toLowerCase())
