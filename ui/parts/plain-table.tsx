import type { ComponentChildren } from 'preact'

interface Props {
  label: string
  className?: string
  columns: readonly string[]
  /** The columns whose figures stand below each other. */
  numbers?: readonly string[] | undefined
  /** The rows. */
  children: ComponentChildren
}

/** A table of a few rows. Where it is wider than the screen it scrolls by itself, also by keys. */
export function PlainTable({ label, className = '', columns, numbers, children }: Props) {
  return (
    <div class="scrolled" tabIndex={0} role="region" aria-label={label}>
      <table class={`plain-table ${className}`}>
        <thead>
          <tr>
            {columns.map((name) => (
              <th key={name} scope="col" class={numberClass(name, numbers)}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

/** In a list of facts. */
export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd dir="auto">{children}</dd>
    </div>
  )
}

export const numberClass = (column: string, numbers: readonly string[] = []): string =>
  numbers.includes(column) ? 'is-number' : ''
