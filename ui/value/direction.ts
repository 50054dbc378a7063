/** Which values of a score are better. */
export type Direction = 'higher' | 'lower' | 'none'

const lowerIsBetter = new Set(['latency', 'cost', 'costs', 'token', 'tokens', 'error', 'errors'])

const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)

/** What the scorer of a score says, by the scorer's name; otherwise guessed from the last step of the field. */
export function directionOf(field: string, stated: ReadonlyMap<string, Direction>): Direction {
  const [, scorer = '', ...path] = field.split(/(?<!\\)\./).map((step) => step.replaceAll('\\.', '.'))
  const known = stated.get(scorer)
  if (known !== undefined) return known
  return wordsOf(path.at(-1) ?? scorer).some((word) => lowerIsBetter.has(word)) ? 'lower' : 'higher'
}

type Change = 'is-better' | 'is-worse' | 'is-same'

/** What a difference from the baseline means, as the class of its colour. */
export function changeOf(step: number, direction: Direction): Change {
  if (step === 0 || direction === 'none') return 'is-same'
  return step > 0 === (direction === 'higher') ? 'is-better' : 'is-worse'
}

export const directionText: Record<Direction, string> = {
  higher: 'higher is better',
  lower: 'lower is better',
  none: 'neither is better',
}
