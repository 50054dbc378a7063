import type { ConstraintOptions } from '../../constraints/index.ts'
import {
  createMatcher,
  type GrammarMatcher,
  type Position,
  packGrammar,
  pointsOf,
} from '../../constraints/index.ts'
import { createAnswerGrammars } from '../grammar/compile-turn.ts'
import type { OfferedTool, TurnConstraint } from '../index.ts'

/** How far a turn grammar follows a text, and the position there. */
interface Followed {
  /** Characters that were followed; all of them if nothing is wrong. */
  length: number
  isComplete: boolean
  isOver: boolean
}

const grammars = createAnswerGrammars()

export function compiledTurn(
  turn: Omit<TurnConstraint, 'kind'>,
  options: ConstraintOptions = { whitespace: 'bounded' },
) {
  const { rules, widened, notes } = grammars.of({ kind: 'turn', ...turn }, options)
  return { grammar: packGrammar(rules), widened: [...widened], notes: [...notes] }
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
