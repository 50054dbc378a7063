import { decimalOf } from '../numbers/decimals.ts'
import { isRecord } from './keywords.ts'

/** A text that two JSON values share exactly when JSON Schema calls them equal: 1 and 1.0, or members in another order. */
export function canonicalOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalOf).join()}]`
  if (isRecord(value)) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalOf(member)}`).join()}}`
  }
  const decimal = decimalOf(value)
  return decimal === undefined ? JSON.stringify(value) : `${decimal.units}/${decimal.scale}`
}
