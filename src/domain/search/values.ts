import { hash } from 'node:crypto'
import { Scan } from '../../../packages/json/index.ts'
import { textOfJson } from '../expressions/json-value.ts'
import { parseNumber } from '../expressions/numbers.ts'
import { maxDocumentLength } from './texts.ts'

/**
 * Keys by which calls are found that have a value at a path. A key stands for all spellings that may compare as equal,
 * so that a condition has to be checked only on the calls that have the key of its value, or that are not wholly read.
 */

/** Documents of a call whose values have keys. */
export const keyedDocuments = ['inputs', 'output', 'attributes'] as const
export type KeyedDocument = (typeof keyedDocuments)[number]

/** Values of a document that have keys. */
const maxValues = 64
/** A longer text has none. */
const maxValueLength = 128
/** Deeper than any path of a query. */
const maxDepth = 32

/** As different spellings of a number compare: 4242, 4242.0 and "4242" are one. Undefined if it has no key. */
function comparedText(text: string): string | undefined {
  const number = parseNumber(text)
  const compared = number === null ? text : String(number)
  return compared === '' || compared.length > maxValueLength ? undefined : compared
}

const digits = 12

const keyOf = (names: readonly string[]) => hash('sha256', JSON.stringify(names), 'hex').slice(0, digits)

/** The key of calls of which not all values in the document have keys. */
export const partialKey = (project: string, document: KeyedDocument): string => keyOf([project, document])

/** The key of a value that reads as this text. Undefined if such a value may have no key. */
export function valueKey(
  project: string,
  document: KeyedDocument,
  path: readonly string[],
  text: string,
): string | undefined {
  const compared = comparedText(text)
  return compared === undefined ? undefined : keyOf([project, document, ...path, compared])
}

/** The keys of a document of a call. What is inside of lists has none. */
export function valueKeysIn(project: string, document: KeyedDocument, json: string): string[] {
  if (json.length >= maxDocumentLength) return [partialKey(project, document)]
  const keys = new Set<string>()
  const scan = new Scan(json)
  const path: string[] = []

  /** Returns where the value ends. */
  function read(at: number): number {
    if (scan.isObject(at) && path.length < maxDepth) {
      for (let i = scan.enter(at); i !== -1; ) {
        const from = scan.key(i)
        path.push(scan.name)
        const end = read(from)
        path.pop()
        i = scan.after(end)
      }
      return scan.end
    }
    const end = scan.skip(at)
    if (!scan.isObject(at) && !scan.isList(at) && keys.size <= maxValues) {
      const key = valueKey(project, document, path, textOfJson(json.slice(at, end)))
      if (key !== undefined) keys.add(key)
    }
    return end
  }

  try {
    read(0)
  } catch (error) {
    // A document that was damaged on the disk is always looked at.
    if (!(error instanceof SyntaxError)) throw error
    return [partialKey(project, document)]
  }
  return keys.size > maxValues ? [partialKey(project, document)] : [...keys]
}
