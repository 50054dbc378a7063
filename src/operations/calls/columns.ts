import { checkPath } from '../../domain/expressions/path.ts'
import { refuse } from '../../domain/refusals.ts'
import {
  isLarge,
  isOptional,
  type LargeColumn,
  largeColumns,
  namesOf,
  recordedColumns,
} from '../../storage/calls/columns.ts'
import type { StreamQueryBody } from './contract.ts'

/** What a query returns of each call. */
interface ShownColumns {
  /** Small columns are always read, because they cost nothing. */
  large: ReadonlySet<LargeColumn>
  /** Members of the record that were not asked for and are null. */
  hidden: readonly string[]
}

/** Weave returns these with every summary. */
const withSummary = ['ended_at', 'exception', 'display_name']

/** The names of the small members that are null unless they are asked for. */
const optional = recordedColumns.filter((name) => isOptional(name) && !isLarge(name)).map(namesOf)

const accepted = [...recordedColumns.flatMap(namesOf), 'deleted_at', 'total_storage_size_bytes']

/** The names that W&B's server has for its own columns; its client may send them. */
const stored = new Map<string, string>(largeColumns.map((name) => [`${name}_dump`, name]))

/** The columns of a query: all of them unless it lists some. Costs are shown in the summary, so they ask for it. */
export function columnsOf({
  columns,
  include_costs,
  include_usernames,
}: Pick<StreamQueryBody, 'columns' | 'include_costs' | 'include_usernames'>): ShownColumns {
  if (!columns?.length) return { large: new Set(largeColumns), hidden: [] }
  const names = namesIn(columns)
  if (include_costs) names.add('summary')
  if (include_usernames) names.add('svc_user_id')
  if (names.has('summary')) for (const name of withSummary) names.add(name)
  return {
    large: new Set(largeColumns.filter((name) => names.has(name))),
    hidden: optional.flatMap((spellings) => (spellings.some((name) => names.has(name)) ? [] : spellings)),
  }
}

function namesIn(columns: readonly string[]): Set<string> {
  for (const [index, column] of columns.entries()) checkPath(column, `columns.${index}`)
  return new Set(
    columns.map((column, index) => {
      const name = column.split('.', 1)[0] as string
      if (accepted.includes(name)) return name
      const known = stored.get(name)
      if (known !== undefined) return known
      throw refuse('unknown_field', {
        field: `columns.${index}`,
        received: JSON.stringify(name),
        accepted: accepted.join(', '),
      })
    }),
  )
}
