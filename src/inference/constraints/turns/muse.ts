import {
  alternatives,
  type Expr,
  type Grammar,
  literal,
  marked,
  never,
  optional,
  rule,
  sequence,
} from '../../../../packages/constraints/index.ts'
import type { CodedCalls } from '../../answer-format.ts'
import type { ThoughtStart } from '../../reasoning/reasoning-format.ts'
import { muse } from '../../tools/muse.ts'
import type { TurnConstraint } from '../constraint.ts'
import type { TurnParts } from './calls.ts'
import { literalExpr } from './literals.ts'
import { addMessageText } from './message-text.ts'

/** Names of recipients that are not tools. */
const taken = new Set(['self', 'user', 'assistant'])

/** A turn of Muse: messages to itself, to the user and to tools. The grammar applies from the first character on. */
export function addMuseTurn(
  { calls, thought }: { calls: TurnConstraint['calls'] | undefined; thought: ThoughtStart },
  { content, tools }: TurnParts,
  { marks = {} }: CodedCalls,
  { rules }: Grammar,
): void {
  const name = (mark: string) => marks[mark] ?? mark
  const [message, ended, over] = [marked(name('<|message|>')), name('<|eom|>'), name('<|eot|>')]
  const isAuto = calls === undefined || calls.choice === 'auto'
  const mayRepeat = calls?.isParallel === true && typeof calls.choice === 'string'
  const textMarks = { start: name('<|start|>'), ends: [ended, over] }
  const next = (recipient: string) => sequence(literal('assistant to='), rule(recipient))

  const literalOf = (pieces: typeof muse.open, isAfterName: boolean): Expr =>
    literalExpr({ literal: pieces, isAfterName, isBeforeName: !isAfterName, isJson: false, ids: 'any' })
  const called = tools
    .filter((tool) => !taken.has(tool.name))
    .map((tool) =>
      sequence(
        literal(tool.name),
        message,
        literalOf(muse.open, false),
        literal(tool.name),
        literalOf(muse.mid, true),
        tool.arguments,
        literalOf(muse.close, false),
      ),
    )
  const another = sequence(marked(ended), marked(textMarks.start), next('called'))
  const behindCall = alternatives(optional(marked(over)), ...(mayRepeat ? [another] : []))
  const toItself = { name: 'thought', message: next('recipient'), lasts: [], mayEnd: false }
  addMessageText(textMarks, toItself, rules)
  const toUser = { name: 'said', message: next('recipient'), lasts: [over], mayEnd: true }
  const reply = content === undefined ? addMessageText(textMarks, toUser, rules) : undefined
  rules.set('called', sequence(alternatives(...called), behindCall))
  rules.set(
    'recipient',
    alternatives(
      ...(called.length === 0 ? [] : [rule('called')]),
      ...(isAuto || thought !== 'over' ? [sequence(literal('self'), message, rule('thought'))] : []),
      ...(isAuto
        ? [sequence(literal('user'), message, reply ?? sequence(content ?? never, optional(marked(over))))]
        : []),
    ),
  )
  rules.set('root', thought === 'open' ? rule('thought') : sequence(literal(' to='), rule('recipient')))
}
