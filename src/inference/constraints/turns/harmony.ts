import {
  alternatives,
  type Grammar,
  literal,
  marked,
  optional,
  rule,
  sequence,
} from '../../../../packages/constraints/index.ts'
import type { CodedCalls } from '../../answer-format.ts'
import type { ThoughtStart } from '../../reasoning/reasoning-format.ts'
import type { TurnConstraint } from '../constraint.ts'
import type { TurnParts } from './calls.ts'
import { addMessageText } from './message-text.ts'

/**
 * A turn in the channels of gpt-oss. Thoughts and what precedes a call are messages; the last message is a call or the
 * content. As all of it is headers and messages, the grammar applies from the first character on.
 */
export function addHarmonyTurn(
  { calls, thought }: { calls: TurnConstraint['calls'] | undefined; thought: ThoughtStart },
  { content, tools }: TurnParts,
  { marks = {} }: CodedCalls,
  { rules }: Grammar,
): void {
  const mark = (name: string) => marked(marks[name] ?? name)
  const [channel, message, ended] = [mark('<|channel|>'), mark('<|message|>'), mark('<|end|>')]
  const ends = ['<|end|>', '<|return|>', '<|call|>'].map((name) => marks[name] ?? name)
  const textMarks = { start: marks['<|start|>'] ?? '<|start|>', ends }
  const isAuto = calls === undefined || calls.choice === 'auto'
  const json = sequence(literal(' '), optional(mark('<|constrain|>')), literal('json'))
  const inChannel = literal('commentary')

  const next = sequence(literal('assistant'), rule('message'))
  addMessageText(textMarks, { name: 'thought', message: next, lasts: [], mayEnd: false }, rules)
  const lasts = ends.slice(0, 2)
  const reply =
    content === undefined
      ? addMessageText(textMarks, { name: 'said', message: next, lasts, mayEnd: true }, rules)
      : sequence(content, optional(alternatives(mark('<|return|>'), ended)))
  const thinking = sequence(literal('analysis'), message, rule('thought'))
  const preamble = sequence(inChannel, message, rule('thought'))
  const final = sequence(literal('final'), optional(json), message, reply)
  const called = tools.map(({ name, arguments: args }) => {
    const recipient = literal(` to=functions.${name}`)
    const body = sequence(optional(json), message, args, optional(mark('<|call|>')))
    return {
      behindChannel: sequence(inChannel, recipient, body),
      beforeChannel: sequence(recipient, channel, inChannel, body),
    }
  })
  const inChannels = [
    ...(isAuto || thought !== 'over' ? [thinking] : []),
    ...(isAuto ? [final] : []),
    ...(isAuto && content === undefined ? [preamble] : []),
    ...called.map(({ behindChannel }) => behindChannel),
  ]
  rules.set(
    'message',
    alternatives(
      sequence(channel, alternatives(...inChannels)),
      ...called.map(({ beforeChannel }) => beforeChannel),
    ),
  )
  rules.set('root', rule(thought === 'open' ? 'thought' : 'message'))
}
