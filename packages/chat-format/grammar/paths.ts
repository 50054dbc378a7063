import { alternatives, type Expr, ofPoints, sequence } from '../../constraints/index.ts'

/** The position in texts that are read character by character: steps by code point or symbol. */
export interface Path {
  readonly steps: Map<number, Path>
  /** What has to follow once one of the texts is complete. */
  armed?: Expr
}

export function path(steps: Iterable<readonly [number, Path]> = [], armed?: Expr): Path {
  return { steps: new Map(steps), ...(armed && { armed }) }
}

/** The union of all these paths. If a complete text is the beginning of longer ones, the shorter counts. */
export function mergedPaths(paths: readonly Path[]): Path {
  const [first, ...others] = paths
  if (first === undefined) return path()
  if (others.length === 0) return first
  const armed = paths.flatMap((branch) => branch.armed ?? [])
  if (armed.length > 0) return path([], alternatives(...armed))
  const points = new Set(paths.flatMap(({ steps }) => [...steps.keys()]))
  return path(
    Array.from(points, (point) => [
      point,
      mergedPaths([...new Set(paths.flatMap(({ steps }) => steps.get(point) ?? []))]),
    ]),
  )
}

/** One of the texts and what follows it, with nothing else before. The paths have no loops. */
export function pathExpr(from: Path): Expr {
  if (from.armed !== undefined) return from.armed
  return alternatives(
    ...Array.from(from.steps, ([point, next]) => sequence(ofPoints([point]), pathExpr(next))),
  )
}

/** The position after a name. */
export function nameIn(names: Path, name: string): Path {
  let at = names
  for (const character of name) {
    const point = character.codePointAt(0) ?? 0
    const next = at.steps.get(point) ?? path()
    at.steps.set(point, next)
    at = next
  }
  return at
}
