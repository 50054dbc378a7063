import { type Held, isMissing, isNone, list, object, text } from './values.ts'

const emptyText = text('')
const ofTexts = new Set([
  'trim',
  'lower',
  'upper',
  'title',
  'capitalize',
  'string',
  'indent',
  'replace',
  'safe',
  'int',
  'float',
  'escape',
  'e',
])
const ofLists = new Set([
  'list',
  'length',
  'count',
  'join',
  'sort',
  'reverse',
  'unique',
  'map',
  'select',
  'reject',
  'selectattr',
  'rejectattr',
  'first',
  'last',
  'sum',
  'min',
  'max',
  'items',
  'dictsort',
])

/**
 * Jinja2 renders undefined values as nothing and iterates over them as over an empty list, and so do its filters. Here
 * none is an empty list, too: templates made for conversations with tools iterate over `tools` without testing it.
 */
export function operandOf(value: Held, filter: string): Held {
  if (isMissing(value) && ofTexts.has(filter)) return emptyText
  if ((isMissing(value) || isNone(value)) && ofLists.has(filter)) {
    return filter === 'items' || filter === 'dictsort' ? object(new Map()) : list([])
  }
  return value
}
