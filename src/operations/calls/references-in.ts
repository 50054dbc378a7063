import { Scan } from '../../domain/json/scan.ts'
import type { ExpandedColumns } from './expanded-columns.ts'

/** A string at the place of a column that may be a reference: where it stands in the text, and the column. */
export interface Place {
  from: number
  to: number
  ref: string
  branch: ExpandedColumns
}

/** Longer than any reference; such strings are prompts and answers. */
const longest = 4096

/** The places in a document of a call, in their order. One walk finds those of all columns. */
export function placesIn(text: string, document: ExpandedColumns): Place[] {
  return search(text, (scan, places) => at(scan, 0, document, places))
}

/** The places in what a reference of this column leads to. */
export function placesBelow(text: string, column: ExpandedColumns): Place[] {
  return column.steps.size === 0
    ? []
    : search(text, (scan, places) => {
        below(scan, 0, column, places)
      })
}

function search(text: string, look: (scan: Scan, places: Place[]) => void): Place[] {
  const places: Place[] = []
  look(new Scan(text), places)
  return places
}

/** Answers where the value ends. */
function at(scan: Scan, from: number, branch: ExpandedColumns, places: Place[]): number {
  if (branch.column === undefined || scan.text[from] !== '"') return below(scan, from, branch, places)
  const to = scan.skip(from, 1)
  if (to - from <= longest) {
    const ref = JSON.parse(scan.text.slice(from, to)) as string
    if (ref.includes(':///')) places.push({ from, to, ref, branch })
  }
  return to
}

function below(scan: Scan, from: number, branch: ExpandedColumns, places: Place[]): number {
  const isObject = scan.isObject(from)
  if (branch.steps.size === 0 || !(isObject || scan.isList(from))) return scan.skip(from, 1)
  let index = 0
  let end = 0
  for (let i = scan.enter(from, 1); i !== -1; i = scan.after(end)) {
    const value = isObject ? scan.key(i) : i
    const next = branch.steps.get(isObject ? scan.name : String(index++))
    end = next === undefined ? scan.skip(value, 1) : at(scan, value, next, places)
  }
  return scan.end
}
