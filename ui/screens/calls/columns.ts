/** What a list of calls can show, in the usual order. `sort` is what the record sorts by. */
export const columns = [
  { name: 'model', label: 'Model', width: '9rem' },
  { name: 'latency', label: 'Took', width: '5.5rem', sort: 'summary.weave.latency_ms' },
  { name: 'tokens', label: 'Tokens', width: '7rem' },
  { name: 'cost', label: 'Cost', width: '5.5rem' },
  { name: 'feedback', label: 'Feedback', width: '6rem' },
  { name: 'user', label: 'User', width: '7rem', sort: 'svc_user_id' },
  { name: 'size', label: 'Size', width: '5rem', sort: 'storage_size_bytes' },
  { name: 'started', label: 'Started', width: '8.5rem', sort: 'started_at' },
] as const

export type ColumnName = (typeof columns)[number]['name']

const usual: readonly ColumnName[] = ['model', 'latency', 'tokens', 'cost', 'feedback', 'started']

/** As the address says it; the usual ones where it says nothing. */
export function chosenColumns(given: string | null): readonly (typeof columns)[number][] {
  const names: readonly string[] = given === null ? usual : given.split(',')
  return names.flatMap((name) => columns.find((one) => one.name === name) ?? [])
}

/** Undefined where they are the usual ones. */
export function columnsText(names: readonly ColumnName[]): string | undefined {
  const text = names.join(',')
  return text === usual.join(',') ? undefined : text || 'none'
}
