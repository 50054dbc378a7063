import { grammarTooLarge } from '../grammar/errors.ts'
import {
  alternatives,
  charClass,
  complement,
  type Expr,
  emptyText,
  type Range,
  rule,
  sequence,
  united,
} from '../grammar/expressions.ts'

export interface Stop {
  readonly text: string
  readonly next: Expr
}

export interface FreeText {
  readonly stops: readonly Stop[]
  /** Whether the text may also be over without one of the stops. */
  readonly mayEnd: boolean
}

/** Characters of all stops together. */
const mostCharacters = 1000

/** A beginning of stops that has been read, and what each character makes of it. */
interface Begun {
  readonly steps: Map<string, Begun>
  /** The stop that is complete here; of several, the longest. */
  stop: Stop | undefined
  name: string
}

/**
 * Any text up to the first place where one of the stops is complete, and then what comes next after that stop. A rule
 * stands for what has been read of the stops (Aho and Corasick's automaton), so there is one way to read a text. The
 * start is the rule that is named as the prefix.
 */
export function addFreeText({ stops, mayEnd }: FreeText, prefix: string, rules: Map<string, Expr>): Expr {
  for (const begun of automatonOf(stops, prefix)) {
    const leading = Map.groupBy(begun.steps, ([, target]) => target)
    const ways = Array.from(leading, ([target, steps]) => ({
      ranges: united(steps.map(([character]) => pointOf(character))),
      next: target.stop?.next ?? rule(target.name),
    }))
    rules.set(
      begun.name,
      alternatives(
        ...ways.map(({ ranges, next }) => sequence(charClass(...ranges), next)),
        sequence(charClass(...complement(united(ways.flatMap(({ ranges }) => ranges)))), rule(prefix)),
        ...(mayEnd ? [emptyText] : []),
      ),
    )
  }
  return rule(prefix)
}

function automatonOf(stops: readonly Stop[], prefix: string): Begun[] {
  const start: Begun = { steps: new Map(), stop: undefined, name: prefix }
  let characters = 0
  for (const stop of stops) {
    let at = start
    for (const character of stop.text) {
      if (++characters > mostCharacters) {
        throw grammarTooLarge('characters of triggers and ends', characters, mostCharacters)
      }
      const next = at.steps.get(character) ?? {
        steps: new Map(),
        stop: undefined,
        name: `${prefix}-${characters}`,
      }
      at.steps.set(character, next)
      at = next
    }
    at.stop ??= stop
  }
  const open: Begun[] = []
  // `otherwise` is where one would be if the stop had begun later: it is shorter, so its steps are complete by then.
  const order: { begun: Begun; otherwise: Begun | undefined }[] = [{ begun: start, otherwise: undefined }]
  for (const { begun, otherwise } of order) {
    begun.stop ??= otherwise?.stop
    if (begun.stop !== undefined) continue
    open.push(begun)
    for (const [character, next] of begun.steps) {
      order.push({
        begun: next,
        otherwise: otherwise === undefined ? start : (otherwise.steps.get(character) ?? start),
      })
    }
    for (const [character, target] of otherwise?.steps ?? []) {
      if (!begun.steps.has(character)) begun.steps.set(character, target)
    }
  }
  return open
}

function pointOf(character: string): Range {
  const point = character.codePointAt(0) ?? 0
  return [point, point]
}
