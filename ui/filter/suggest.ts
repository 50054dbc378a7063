import { described, openFields, writeFilter } from '../../packages/filter/index.ts'
import { conditionOf } from './facet-filter.ts'

interface Suggestion {
  text: string
  means: string
  /** The whole text of the filter bar with the suggestion in it. */
  whole: string
}

const statuses = [
  ['success', 'ended without an error'],
  ['error', 'failed'],
  ['descendant_error', 'a call below it failed'],
  ['running', 'still running'],
] as const

const most = 8

/** What the record contains that fits what is being typed. */
export interface Known {
  /** Paths of values inside calls. */
  paths: readonly { field: string; count: number }[]
  /** Values of a field, with counts as in a facet. */
  values: { field: string; of: readonly { value: string | null; count: number }[] } | undefined
}

/** Whether the user is typing a path or a value of a field; undefined where the server need not be asked. */
export function wantedAt(text: string, caret: number): { paths: true } | { values: string } | undefined {
  const { word } = wordAt(text, caret)
  const field = /^([^:]+):[^<>]*$/.exec(word)?.[1]
  if (field !== undefined && (/^(?:model|user|op|feedback|reaction)$/.test(field) || isPath(field)))
    return { values: field }
  return isPath(word) && !word.includes(':') ? { paths: true } : undefined
}

const isPath = (text: string) => /^(?:inputs|output|attributes|summary)\./.test(text)

function wordAt(text: string, caret: number) {
  const before = /[^\s()"]*$/.exec(text.slice(0, caret))?.[0] ?? ''
  const word = before.slice(before.startsWith('-') ? 1 : 0)
  const from = caret - word.length
  return { word, whole: (given: string) => text.slice(0, from) + given + text.slice(caret) }
}

/** What could be at the caret: fields, paths, and values that calls of the list have. */
export function suggestionsFor(text: string, caret: number, known?: Known): Suggestion[] {
  const { word, whole } = wordAt(text, caret)
  const status = /^status:(.*)$/.exec(word)?.[1]
  if (status !== undefined) {
    return statuses
      .filter(([name]) => name.startsWith(status) && name !== status)
      .map(([name, means]) => ({ text: `status:${name}`, means, whole: whole(`status:${name}`) }))
  }
  if (known?.values !== undefined && word.startsWith(`${known.values.field}:`)) {
    return valuesFor(word, known.values, whole)
  }
  if (known !== undefined && isPath(word) && !word.includes(':')) {
    const fitting = known.paths.filter(({ field }) => field.toLowerCase().startsWith(word.toLowerCase()))
    return fitting.slice(0, most).map(({ field, count }) => {
      return { text: `${field}:`, means: `in ${count} of the newest calls`, whole: whole(`${field}:`) }
    })
  }
  if (word === '' || word.includes(':')) return []
  const fields = [...described, ...openFields].filter(({ field }) => field.startsWith(word.toLowerCase()))
  return fields.slice(0, most).map(({ field, means }) => {
    const given = /[.:]$/.test(field) ? field : `${field}:`
    return { text: given, means, whole: whole(given) }
  })
}

function valuesFor(
  word: string,
  { field, of }: NonNullable<Known['values']>,
  whole: (given: string) => string,
): Suggestion[] {
  const typed = word
    .slice(field.length + 1)
    .replace(/^=/, '')
    .toLowerCase()
  const fitting = of.flatMap(({ value, count }) => {
    if (value === null || !value.toLowerCase().includes(typed)) return []
    const condition = conditionOf({ field, value, isJson: isPath(field) })
    if (condition === undefined) return []
    const text = writeFilter(condition)
    return text === word ? [] : { text, means: `${count} calls`, whole: whole(text) }
  })
  return fitting.slice(0, most)
}
