export function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b)
}

/** The value below which this share of the sorted values lies. */
export function quantile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN
}

export interface Spread {
  median: number
  least: number
  most: number
}

export function spreadOf(values: readonly number[]): Spread {
  const ascending = sorted(values)
  const middle = ascending.length / 2
  const upper = ascending[Math.floor(middle)] ?? Number.NaN
  const lower = ascending[Math.ceil(middle) - 1] ?? Number.NaN
  return {
    median: (upper + lower) / 2,
    least: ascending[0] ?? Number.NaN,
    most: ascending.at(-1) ?? Number.NaN,
  }
}

/** Three significant digits, and no exponent. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return '-'
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en')
  return value.toPrecision(3)
}

export function shownSpread({ median, least, most }: Spread): string {
  return least === most ? shown(median) : `${shown(median)} (${shown(least)}-${shown(most)})`
}

/** A table that is readable on a screen and is Markdown as it stands. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => (row[i] ?? '').length)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`
  const rule = `|${widths.map((width, i) => (i === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(head), rule, ...rows.map(line)].join('\n')
}
