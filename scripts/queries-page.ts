import { readFileSync } from 'node:fs'
import { columnOf, nameOf, queriedColumns } from '../src/storage/calls/columns.ts'

const [begin, end] = ['<!-- generated -->', '<!-- end -->']

/** The lists of columns in the page about queries. */
export function queriesPage(): string {
  const page = readFileSync(new URL('../docs/queries.md', import.meta.url), 'utf8')
  const [before = '', rest = ''] = page.split(begin)
  const [, after] = rest.split(end)
  if (after === undefined) throw new Error('docs/queries.md has lost the marks around its columns')
  const [derived = [], plain = []] = [true, false].map((isFact) =>
    queriedColumns.filter((name) => Boolean(columnOf(name).isFact) === isFact),
  )
  const explained = derived.map((name) => `\`${nameOf(name)}\` (${columnOf(name).about})`)
  return `${before}${begin}
- columns: ${plain.map((name) => `\`${nameOf(name)}\``).join(', ')};
- values derived from the call: ${explained.join(', ')};
${end}${after}`
}
