import {
  createMatcher,
  type GrammarMatcher,
  type Position,
  pointsOf,
} from '../../packages/constraints/index.ts'
import { createConstraintCompiler } from '../../src/inference/constraints/compile.ts'
import type {
  Compiled,
  ConstraintOptions,
  TurnConstraint,
} from '../../src/inference/constraints/constraint.ts'
import type { OfferedTool } from '../../src/inference/tools/offered-tool.ts'

/** How far a turn grammar follows a text, and the position there. */
export interface Followed {
  /** Characters that were followed; all of them if nothing is wrong. */
  length: number
  isComplete: boolean
  isOver: boolean
}

const compiler = createConstraintCompiler()

export function compiledTurn(
  turn: Omit<TurnConstraint, 'kind'>,
  options: ConstraintOptions = { whitespace: 'bounded' },
): Compiled {
  return compiler.compile({ kind: 'turn', ...turn }, options, 'tools')
}

export function followerOf(turn: Omit<TurnConstraint, 'kind'>): (text: string) => Followed {
  const following = createMatcher(compiledTurn(turn).grammar)
  return (text) => {
    let at: Position = following.start
    let length = 0
    for (const point of pointsOf(text)) {
      const next = following.after(at, point)
      if (next === undefined) break
      at = next
      length += point > 0xffff && point < 0x110000 ? 2 : 1
    }
    return { length, isComplete: at.isComplete, isOver: at.isOver }
  }
}

export function tool(name: string, parameters: unknown, strict = false): OfferedTool {
  return { name, parameters, strict }
}

export type { GrammarMatcher }
