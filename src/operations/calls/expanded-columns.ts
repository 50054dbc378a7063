import { checkPath, splitPath } from '../../domain/expressions/path.ts'
import { refuse, wrong } from '../../domain/refusals.ts'

/** Columns whose references are replaced, as a tree of the steps to them. */
export interface ExpandedColumns {
  /** The column as it was given, if one ends here. */
  column?: string
  steps: ReadonlyMap<string, ExpandedColumns>
}

const documents = ['inputs', 'output', 'attributes', 'summary']

/** How deep columns may be nested inside what others lead to. */
const deepest = 8

export function expandedColumns(columns: readonly string[]): ExpandedColumns {
  const root: ColumnTree = { steps: new Map() }
  for (const [index, column] of columns.entries()) {
    checkPath(column, `expand_columns.${index}`)
    const path = splitPath(column)
    if (!documents.includes(path[0] as string)) {
      throw refuse('unknown_field', {
        field: `expand_columns.${index}`,
        received: JSON.stringify(column),
        accepted: 'inputs.…, output, output.…, attributes.…, summary.…',
      })
    }
    addColumn(root, column, path)
  }
  refuseLongChains(root)
  return root
}

interface ColumnTree extends ExpandedColumns {
  steps: Map<string, ColumnTree>
}

function addColumn(root: ColumnTree, column: string, path: readonly string[]): void {
  let branch = root
  for (const step of path) {
    let next = branch.steps.get(step)
    if (next === undefined) {
      next = { steps: new Map() }
      branch.steps.set(step, next)
    }
    branch = next
  }
  branch.column = column
}

function refuseLongChains(root: ExpandedColumns): void {
  const waiting = [{ branch: root, above: 0 }]
  for (const { branch, above } of waiting) {
    const depth = above + (branch.column === undefined ? 0 : 1)
    if (depth > deepest) {
      throw wrong(
        'expand_columns',
        `${JSON.stringify(branch.column)} is nested in ${above} others`,
        `at most ${deepest} levels of nesting`,
      )
    }
    for (const next of branch.steps.values()) waiting.push({ branch: next, above: depth })
  }
}

/** Refuses a field inside what a reference leads to, because the calls themselves do not contain it. */
export function refuseExpanded(expanded: ExpandedColumns, field: string, path: string): void {
  const column = columnAbove(expanded, splitPath(field))
  if (column === undefined) return
  throw wrong(
    path,
    `${JSON.stringify(field)} is below ${JSON.stringify(column)} of expand_columns`,
    'fields of the calls themselves; values behind a reference are only returned, not filtered or sorted by',
  )
}

function columnAbove(expanded: ExpandedColumns, path: readonly string[]): string | undefined {
  let branch: ExpandedColumns | undefined = expanded
  for (const step of path) {
    if (branch.column !== undefined) return branch.column
    branch = branch.steps.get(step)
    if (branch === undefined) return undefined
  }
  return undefined
}
