import type { OwnCalls } from '../../answer-format.ts'
import type { ThoughtStart } from '../../reasoning/reasoning-format.ts'
import { hermes } from '../../tools/call-format.ts'
import type { TurnConstraint } from '../constraint.ts'
import {
  alternatives,
  charClass,
  complement,
  type Grammar,
  literal,
  optional,
  repetition,
  rule,
  sequence,
} from '../grammar/expressions.ts'
import { marked, otherControlToken } from '../grammar/symbols.ts'
import type { TurnParts } from './calls.ts'

/** The arguments of gpt-oss are JSON, as those of Hermes are. */
export function argumentsAsData(calls: TurnConstraint['calls']): TurnConstraint['calls'] {
  if (calls === undefined || !('own' in calls.format) || calls.format.own !== 'harmony') return calls
  return { ...calls, format: hermes }
}

/**
 * A turn in the channels of gpt-oss: thoughts and what precedes a call are messages, then comes the last one, which is a call or
 * what is said. As it is all headers and messages, it is followed from its first character on.
 */
export function addHarmonyTurn(
  { calls, thought }: { calls: TurnConstraint['calls'] | undefined; thought: ThoughtStart },
  { content, tools }: TurnParts,
  { marks = {} }: OwnCalls,
  { rules }: Grammar,
): void {
  const mark = (name: string) => marked(marks[name] ?? name)
  const [channel, message, ended] = [mark('<|channel|>'), mark('<|message|>'), mark('<|end|>')]
  const isAuto = calls === undefined || calls.choice === 'auto'
  const free = repetition(charClass(...complement([]), [otherControlToken, otherControlToken]), 0)
  const json = sequence(literal(' '), optional(mark('<|constrain|>')), literal('json'))
  const inChannel = literal('commentary')

  rules.set('more', sequence(ended, mark('<|start|>'), literal('assistant'), rule('message')))
  rules.set('thought', sequence(free, rule('more')))
  const thinking = sequence(literal('analysis'), message, rule('thought'))
  const preamble = sequence(inChannel, message, free, rule('more'))
  const final = sequence(
    literal('final'),
    optional(json),
    message,
    content ?? free,
    optional(alternatives(mark('<|return|>'), ended)),
  )
  const called = tools.map(({ name, arguments: given }) => {
    const recipient = literal(` to=functions.${name}`)
    const body = sequence(optional(json), message, given, optional(mark('<|call|>')))
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
