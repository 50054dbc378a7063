import { described, openFields } from './fields.ts'

export interface Suggestion {
  text: string
  means: string
  /** The whole text of the bar with it. */
  whole: string
}

const statuses = [
  ['success', 'it is done'],
  ['error', 'it failed'],
  ['descendant_error', 'a call below it failed'],
  ['running', 'it has not ended'],
] as const

const most = 8

/** What could stand where the caret is: fields, and the values of a status. */
export function suggestionsFor(text: string, caret: number): Suggestion[] {
  const before = /[^\s()"]*$/.exec(text.slice(0, caret))?.[0] ?? ''
  const minus = before.startsWith('-') ? '-' : ''
  const word = before.slice(minus.length)
  const from = caret - word.length
  const whole = (given: string) => text.slice(0, from) + given + text.slice(caret)
  const status = /^status:(.*)$/.exec(word)?.[1]
  if (status !== undefined) {
    return statuses
      .filter(([name]) => name.startsWith(status) && name !== status)
      .map(([name, means]) => ({ text: `status:${name}`, means, whole: whole(`status:${name}`) }))
  }
  if (word === '' || word.includes(':')) return []
  const fields = [...described, ...openFields].filter(({ field }) => field.startsWith(word.toLowerCase()))
  return fields.slice(0, most).map(({ field, means }) => {
    const given = /[.:]$/.test(field) ? field : `${field}:`
    return { text: given, means, whole: whole(given) }
  })
}
