import { alternatives, type Expr, literal, sequence } from '../../constraints/index.ts'
import type { AlternativeSpelling } from '../alternative-spellings.ts'
import { derivativesOf } from './derivatives.ts'
import { literalExpr, literalPath, type Placed } from './literals.ts'
import { nameIn, type Path, path, pathExpr } from './paths.ts'

/** A tool with the piece for its arguments as JSON. */
interface SecondTool {
  name: string
  json: Expr
}

/** What has to be read at the start of an answer until it can only be a call in one of these spellings. */
export function alternativePaths(
  spellings: readonly AlternativeSpelling[],
  tools: readonly SecondTool[],
): Path[] {
  return spellings.flatMap(({ opens, certain, mids, close }) => {
    // Shared by all spellings: each name of each tool is a path of its own.
    const names = path()
    for (const tool of tools) {
      const rest = sequence(
        alternatives(...mids.map((mid) => literalExpr(placed(mid, certain === '', false)))),
        tool.json,
        literal(close),
      )
      const armed = path(
        Array.from(derivativesOf(rest, new Map()), ([point, next]) => [point, path([], next)]),
      )
      const end = nameIn(names, tool.name)
      for (const [point, next] of literalPath(placed(certain, true, false), armed).steps) {
        end.steps.set(point, next)
      }
    }
    // An opening that nothing else begins with is a mark, and only a name can follow it.
    const behind = certain === '' ? path([], pathExpr(names)) : names
    return opens.map((open) => literalPath(placed(open, false, true), behind))
  })
}

function placed(text: string, isAfterName: boolean, isBeforeName: boolean): Placed {
  return { literal: text === '' ? [] : [text], isAfterName, isBeforeName, isJson: true, ids: 'any' }
}
