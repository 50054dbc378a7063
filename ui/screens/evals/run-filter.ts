import { isNamed } from '../../parts/name-filter.tsx'
import { refName } from '../../value/ref.ts'
import { scoreName } from '../../value/scores.ts'
import { figureOf, figures, type Known, nameOf } from './order.tsx'

/** As in a comparison, `judge.passed>=0.5` and `"exact match"=1`, or as in the list of calls, `cost:>0.01`. */
const condition = /^("[^"]+"|[^\s":<>=!]+):?(>=|<=|!=|=|<|>)(.+)$/

const units: Record<string, number> = { '%': 0.01, ms: 0.001, m: 60 }

/** Every other word is part of the name. */
export function runFilter(text: string, scores: readonly string[]) {
  const columns = new Map([
    ...Object.keys(figures).map((field) => [field.toLowerCase(), field] as const),
    ...scores.map((field) => [scoreName(field).toLowerCase(), field] as const),
  ])
  const words: string[] = []
  const conditions: ((known: Known) => boolean)[] = []
  let problem: string | undefined
  for (const word of text.match(/(?:"[^"]*"|\S)+/g) ?? []) {
    const [, name, by = '', value = ''] = condition.exec(word) ?? []
    if (name === undefined) {
      words.push(word)
      continue
    }
    const field = columns.get(name.toLowerCase().replace(/^"|"$|^scores\./g, ''))
    const wanted = numberIn(value)
    if (field === undefined)
      problem = `No column is named ${name}; there are: ${[...columns.keys()].join(', ')}.`
    else if (Number.isNaN(wanted)) problem = `${name} is a number, not ${value}.`
    else conditions.push((known) => holds(figureOf(known, field), by, wanted))
  }
  const fits = (known: Known) =>
    isNamed(`${nameOf(known.row)} ${refName(known.row.evaluation_ref)}`, words.join(' ')) &&
    conditions.every((condition) => condition(known))
  return { fits, problem }
}

/** With the units that the columns show; `true` is the whole share. */
function numberIn(text: string): number {
  if (text === 'true' || text === 'false') return Number(text === 'true')
  const [, number, unit = ''] = /^\$?(-?[\d.]+(?:e-?\d+)?)(%|ms|s|m)?$/i.exec(text) ?? []
  return Number(number) * (units[unit] ?? 1)
}

function holds(value: number, by: string, wanted: number): boolean {
  if (by === '=') return value === wanted
  if (by === '!=') return value !== wanted && !Number.isNaN(value)
  if (by.startsWith('>')) return value > wanted || (by === '>=' && value === wanted)
  return value < wanted || (by === '<=' && value === wanted)
}
