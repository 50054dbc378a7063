import {
  alternatives,
  charClass,
  complement,
  type Expr,
  emptyText,
  grammarTooLarge,
  isSymbol,
  otherControlToken,
  type Range,
  rule,
  sequence,
  united,
} from '../../constraints/index.ts'
import { mergedPaths, type Path, path } from './paths.ts'

interface TriggeredText {
  /** The paths that may begin anywhere in the text. */
  anywhere: Path
  /** The paths that may begin at the start of the text, for each named start. */
  starts: Readonly<Record<string, Path>>
  /** Whether the text may end at any point. */
  mayEnd: boolean
  /** Whether control tokens that begin no path may appear in it. */
  hasControlTokens?: boolean
}

/**
 * What has been read of the paths: a position on one of them, and the state of those that began later (the failure link
 * of Aho and Corasick).
 */
interface State {
  readonly path: Path
  readonly later: State | undefined
  readonly name: string
  steps: ReadonlyMap<number, State> | undefined
}

/**
 * Any text up to the first position where a path is complete, followed by what that path demands. Markers appear in it
 * only where a path begins with them; other control tokens may appear anywhere unless they are ruled out. The rule with
 * the prefix as its name is the text without a start. The rule of each start has its name appended after a hyphen.
 */
export function addTriggeredText(
  { anywhere, starts, mayEnd, hasControlTokens = true }: TriggeredText,
  prefix: string,
  rules: Map<string, Expr>,
): void {
  const controls: Range[] = hasControlTokens ? [[otherControlToken, otherControlToken]] : []
  const known = new Map<Path, Map<State | undefined, State>>()
  const states: State[] = []

  const stateOf = (path: Path, later: State | undefined, name?: string): State => {
    const byLater = known.get(path) ?? new Map<State | undefined, State>()
    known.set(path, byLater)
    const before = byLater.get(later)
    if (before !== undefined) return before
    const state: State = { path, later, name: name ?? `${prefix}-${states.length}`, steps: undefined }
    byLater.set(later, state)
    states.push(state)
    return state
  }

  const stepsOf = (state: State): ReadonlyMap<number, State> => {
    if (state.steps !== undefined) return state.steps
    const { path, later } = state
    const others = later === undefined ? undefined : stepsOf(later)
    const steps = new Map(others)
    for (const [point, next] of path.steps) {
      steps.set(point, stateOf(next, later === undefined ? text : (others?.get(point) ?? text)))
    }
    state.steps = steps
    return steps
  }

  const armedAt = (state: State | undefined): Expr | undefined =>
    state === undefined ? undefined : (state.path.armed ?? armedAt(state.later))

  const text = stateOf(anywhere, undefined, prefix)
  for (const [name, start] of Object.entries(starts)) {
    // A copy, so that equal starts stay separate.
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

export interface Stop {
  readonly text: string
  readonly next: Expr
}

interface FreeText {
  readonly stops: readonly Stop[]
  /** Whether the text may also end without one of the stops. */
  readonly mayEnd: boolean
}

/** Characters of all stops together. */
const maxCharacters = 1000

/**
 * Any text up to the first position where a stop is complete, followed by what belongs to that stop; if several are
 * complete, to the longest. There is one way to read a text. The start is the rule with the prefix as its name.
 */
export function addFreeText({ stops, mayEnd }: FreeText, prefix: string, rules: Map<string, Expr>): Expr {
  const known = new Map(stops.toReversed().map((stop) => [stop.text, stop]))
  const characters = stops.reduce((sum, { text }) => sum + [...text].length, 0)
  if (characters > maxCharacters) {
    throw grammarTooLarge('characters of triggers and ends', characters, maxCharacters)
  }
  const anywhere = mergedPaths(Array.from(known.values(), pathOf))
  addTriggeredText({ anywhere, starts: {}, mayEnd, hasControlTokens: false }, prefix, rules)
  return rule(prefix)
}

/** The texts that callers send have no markers: each of their characters is one. */
function pathOf({ text, next }: Stop): Path {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0).reduceRight<Path>(
    (behind, point) => path([[point, behind]]),
    path([], next),
  )
}
