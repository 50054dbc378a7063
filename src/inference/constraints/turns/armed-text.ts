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
import { isSymbol, otherControlToken } from '../grammar/symbols.ts'
import { type Path, path } from './paths.ts'

interface ArmedText {
  /** What may be armed anywhere in the text. */
  anywhere: Path
  /** What may be armed where the text starts, for each start that it has. */
  starts: Readonly<Record<string, Path>>
  /** Whether the text may also be over, wherever it is. */
  mayEnd: boolean
  /** Whether control tokens that no path begins with may stand in it. */
  hasControlTokens?: boolean
}

/**
 * What has been read of the paths: a place on one of them, and what has been read of those that began later (Aho and
 * Corasick's failure link).
 */
interface State {
  readonly place: Path
  readonly later: State | undefined
  readonly name: string
  steps: ReadonlyMap<number, State> | undefined
}

/**
 * Any text up to the first place where one of the paths is complete, and then what has to follow there. Markers stand in
 * it where a path begins with them only; other control tokens may stand anywhere unless they are ruled out. The rule that is named as the prefix is the text
 * without a start; each start is named with a hyphen behind it.
 */
export function addArmedText(
  { anywhere, starts, mayEnd, hasControlTokens = true }: ArmedText,
  prefix: string,
  rules: Map<string, Expr>,
): void {
  const controls: Range[] = hasControlTokens ? [[otherControlToken, otherControlToken]] : []
  const known = new Map<Path, Map<State | undefined, State>>()
  const states: State[] = []

  const stateOf = (place: Path, later: State | undefined, name?: string): State => {
    const byLater = known.get(place) ?? new Map<State | undefined, State>()
    known.set(place, byLater)
    const before = byLater.get(later)
    if (before !== undefined) return before
    const state: State = { place, later, name: name ?? `${prefix}-${states.length}`, steps: undefined }
    byLater.set(later, state)
    states.push(state)
    return state
  }

  const stepsOf = (state: State): ReadonlyMap<number, State> => {
    if (state.steps !== undefined) return state.steps
    const { place, later } = state
    const others = later === undefined ? undefined : stepsOf(later)
    const steps = new Map(others)
    for (const [point, next] of place.steps) {
      steps.set(point, stateOf(next, later === undefined ? text : (others?.get(point) ?? text)))
    }
    state.steps = steps
    return steps
  }

  const armedAt = (state: State | undefined): Expr | undefined =>
    state === undefined ? undefined : (state.place.armed ?? armedAt(state.later))

  const text = stateOf(anywhere, undefined, prefix)
  for (const [name, start] of Object.entries(starts)) {
    // A copy, so that equal starts are two.
    stateOf(path(start.steps), text, `${prefix}-${name}`)
  }
  for (const state of states) {
    if (armedAt(state) !== undefined) continue
    const steps = stepsOf(state)
    const ways = Array.from(
      Map.groupBy(steps, ([, target]) => target),
      ([target, led]) => ({
        ranges: united(led.map(([point]): Range => [point, point])),
        next: armedAt(target) ?? rule(target.name),
      }),
    )
    const characters = united(ways.flatMap(({ ranges }) => ranges).filter(([first]) => !isSymbol(first)))
    rules.set(
      state.name,
      alternatives(
        ...ways.map(({ ranges, next }) => sequence(charClass(...ranges), next)),
        sequence(charClass(...complement(characters), ...controls), rule(prefix)),
        ...(mayEnd ? [emptyText] : []),
      ),
    )
  }
}
