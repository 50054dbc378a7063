import { wrong } from '../refusals.ts'
import { storableText } from '../text.ts'

/** Dots separate segments; `\.` is a dot inside a key; any other backslash is a backslash. */
export function splitPath(field: string): string[] {
  const segments: string[] = ['']
  for (const token of field.match(/\\\.|\.|[^.\\]+|\\/g) ?? []) {
    if (token === '.') segments.push('')
    else segments[segments.length - 1] += token === '\\.' ? '.' : token
  }
  return segments
}

/** Such a segment is an index if the value is a list, and otherwise a key. Longer numbers are always keys. */
export function isListIndex(segment: string): boolean {
  return /^(?:0|[1-9]\d{0,8})$/.test(segment)
}

/**
 * The longest path that is looked up in stored JSON: deeper than any value, and each step is a parameter of the
 * statement.
 */
const maxFieldLength = 1024
const maxSteps = 32
/** Each may mean a list or an object, and the statement looks up both, so one more doubles the work. */
const maxIndexes = 3

/**
 * Why a path cannot be looked up, in the words of a refusal; undefined if it can. Every path from a client is checked
 * here.
 */
export function invalidPathReason(field: string): { why: string; accepted: string } | undefined {
  if (field.length > maxFieldLength) {
    return { why: `has ${field.length} characters`, accepted: `at most ${maxFieldLength}` }
  }
  // Such keys have no text that both engines could compare.
  if (field !== storableText(field)) {
    return { why: 'holds U+0000 or half of a surrogate pair', accepted: 'a path without them' }
  }
  const steps = splitPath(field)
  if (steps.length > maxSteps) {
    return { why: `has ${steps.length} steps`, accepted: `at most ${maxSteps}` }
  }
  if (steps.filter(isListIndex).length > maxIndexes) {
    return { why: `has more than ${maxIndexes} whole-number segments`, accepted: `at most ${maxIndexes}` }
  }
  return undefined
}

/** Refuses a path outside of expressions. `path` is where it was given, such as sort_by.0.field. */
export function checkPath(field: string, path: string): void {
  const flaw = invalidPathReason(field)
  if (flaw === undefined) return
  const shown = JSON.stringify(field.length > 60 ? `${field.slice(0, 60)}…` : field)
  throw wrong(path, `${shown} ${flaw.why}`, flaw.accepted)
}
