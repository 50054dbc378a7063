/** Columns of the list of calls in their usual order. `sort` is the field of the record that a column sorts by. */
export const columns = [
  { name: 'model', label: 'Model', width: 'clamp(8.5rem, 12vw, 20rem)', sort: 'model' },
  { name: 'latency', label: 'Latency', width: '4.75rem', sort: 'summary.weave.latency_ms' },
  { name: 'tokens', label: 'Tokens', width: '6.25rem', sort: 'output_tokens' },
  { name: 'cost', label: 'Cost', width: '5.5rem', sort: 'cost' },
  { name: 'feedback', label: 'Feedback', width: '5.75rem' },
  { name: 'user', label: 'User', width: '7rem', sort: 'svc_user_id' },
  { name: 'size', label: 'Size', width: '5rem', sort: 'storage_size_bytes' },
  { name: 'started', label: 'Started', width: '8.5rem', sort: 'started_at' },
] as const

export type ColumnName = (typeof columns)[number]['name']

/** A column of the list; one with a path shows a value inside the calls. */
export interface Column {
  name: string
  label: string
  width: string
  sort?: string
  path?: string
}

const usual: readonly ColumnName[] = ['model', 'latency', 'tokens', 'cost', 'feedback', 'started']

/** Values inside calls that one request may ask for. */
export const mostPaths = 8

/** The columns in the address; the usual ones where it names none. */
export function chosenColumns(given: string | null): readonly Column[] {
  const names: readonly string[] = given === null ? usual : given.split(',')
  const known = names.flatMap((name): Column[] => {
    const found = columns.find((one) => one.name === name)
    if (found) return [found]
    return isPath(name) ? [pathColumn(name)] : []
  })
  const paths = known.flatMap(({ path }) => path ?? [])
  return known.filter(({ path }) => path === undefined || paths.indexOf(path) < mostPaths)
}

export const isPath = (name: string) => /^(?:inputs|output|attributes|summary)\../.test(name)

/** Named by the last two steps of its path. */
export function pathColumn(path: string): Column {
  const steps = path.match(/(?:\\.|[^.\\])+/g) ?? [path]
  return { name: path, path, label: steps.slice(-2).join('.'), width: '10rem', sort: path }
}

/** Undefined for the usual columns. */
export function columnsText(names: readonly string[]): string | undefined {
  const text = names.join(',')
  return text === usual.join(',') ? undefined : text || 'none'
}
