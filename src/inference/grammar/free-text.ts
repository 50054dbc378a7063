import { alternatives, charClass, complement, type Expr, emptyText, rule, sequence, united } from './gbnf.ts'

export interface Stop {
  readonly text: string
  /** What comes after it. */
  readonly then: Expr
}

export interface FreeText {
  readonly stops: readonly Stop[]
  /** Whether the text may also be over without one of the stops. */
  readonly mayEnd: boolean
}

/**
 * Any text up to the first place where one of the stops is complete. Each rule stands for what of a stop has been read
 * so far, so there is one way to read a text. The start is the rule that is named as the prefix.
 */
export function addFreeText({ stops, mayEnd }: FreeText, prefix: string, rules: Map<string, Expr>): Expr {
  const begins = ['', ...new Set(stops.flatMap(({ text }) => properBegins(text)))]
  const nameOf = (begun: string) => (begun === '' ? prefix : `${prefix}-${begins.indexOf(begun)}`)
  const alphabet = [...new Set(stops.flatMap(({ text }) => Array.from(text)))]
  const known = new Set(begins)
  for (const begun of begins) {
    // All that leads on to the same place is one class.
    const ways = new Map<string, { then: Expr; points: number[] }>()
    for (const character of alphabet) {
      const read = begun + character
      const stop = longest(stops.filter(({ text }) => read.endsWith(text)))
      const next = stop === undefined ? remembered(read, known) : ''
      if (stop === undefined && next === '') continue
      const then = stop?.then ?? rule(nameOf(next))
      const key = stop === undefined ? `to ${next}` : `stop ${stop.text}`
      const way = ways.get(key) ?? { then, points: [] }
      way.points.push(character.codePointAt(0) ?? 0)
      ways.set(key, way)
    }
    const leading = [...ways.values()].map(({ then, points }) => ({
      then,
      ranges: united(points.map((one) => [one, one])),
    }))
    const rest = complement(united(leading.flatMap(({ ranges }) => ranges)))
    rules.set(
      nameOf(begun),
      alternatives(
        ...leading.map(({ then, ranges }) => sequence(charClass(...ranges), then)),
        sequence(charClass(...rest), rule(prefix)),
        ...(mayEnd ? [emptyText] : []),
      ),
    )
  }
  return rule(prefix)
}

function properBegins(text: string): string[] {
  const characters = Array.from(text)
  return characters.slice(1).map((_, at) => characters.slice(0, at + 1).join(''))
}

/** The longest end of what was read that is the beginning of a stop. */
function remembered(read: string, known: ReadonlySet<string>): string {
  const characters = Array.from(read)
  for (let from = 0; from < characters.length; from++) {
    const end = characters.slice(from).join('')
    if (known.has(end)) return end
  }
  return ''
}

function longest(stops: readonly Stop[]): Stop | undefined {
  return stops.reduce<Stop | undefined>(
    (best, stop) => (best === undefined || stop.text.length > best.text.length ? stop : best),
    undefined,
  )
}
