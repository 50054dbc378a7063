import type { Grammar } from '../../constraints/index.ts'
import type { CodedCalls } from '../answer-format.ts'
import { hermes } from '../call-format.ts'
import type { TurnParts } from '../grammar/calls.ts'
import { readJson } from '../reading/json-arguments.ts'
import { type CallsOfMessages, type MessageForm, recipientOf } from '../reading/messages.ts'
import { isSpace, type PieceReader, type Source } from '../reading/source.ts'
import type { ThoughtStart } from '../reasoning/reasoning-format.ts'
import type { TurnConstraint } from '../turn-constraint.ts'
import type { CodedForm, GrammarKit } from './coded-form.ts'

/** The channels of gpt-oss. */
export const harmony: CodedForm = {
  marks: ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>', '<|end|>', '<|call|>', '<|return|>'],
  isWritten: (call) => call.includes('to=functions.') && call.includes('<|channel|>'),
  // It writes arguments as JSON, as Hermes does.
  calls: hermes,
  form: harmonyForm,
  addTurn: addHarmonyTurn,
}

/**
 * The channels of gpt-oss: `<|channel|>analysis<|message|>` is a thought, and a message to a function is a call. The
 * recipient comes before or after the channel.
 */
function harmonyForm(
  marks: Readonly<Record<string, string>>,
  calls: CallsOfMessages | undefined,
): MessageForm {
  const mark = (name: string) => marks[name] ?? name
  const [start, channel] = [mark('<|start|>'), mark('<|channel|>')]
  let isCalled = false
  return {
    start,
    message: mark('<|message|>'),
    ends: [mark('<|end|>'), mark('<|return|>'), mark('<|call|>')],
    begins: [start, channel, 'to='],
    wordBegins: ['to='],
    isThought(header) {
      const found = header.lastIndexOf(channel)
      const name = found === -1 ? undefined : /^\w*/.exec(header.slice(found + channel.length))?.[0]
      return name === 'analysis' && recipientOf(header) === undefined
    },
    *readCall(source, collector, header) {
      const recipient = recipientOf(header)
      const tool = calls?.tools.find(({ name }) => recipient === `functions.${name}`)
      if (tool === undefined || (isCalled && !calls?.isParallel) || !(yield* isObject(source))) return 'none'
      isCalled = true
      collector.call(tool.name)
      if (!(yield* readJson(source, collector.arguments))) return 'over'
      collector.callEnd()
      return 'read'
    },
  }
}

/** A truncated call counts as an object while nothing of it has arrived. */
function* isObject(source: Source): PieceReader<boolean> {
  for (;;) {
    const { text } = source
    while (source.at < text.length && isSpace(text.charCodeAt(source.at))) source.at++
    if (source.at < text.length) return text[source.at] === '{'
    if (source.isOver) return true
    yield
  }
}

/**
 * A turn in the channels of gpt-oss. Thoughts and what precedes a call are messages; the last message is a call or the
 * content. As all of it is headers and messages, the grammar applies from the first character on.
 */
function addHarmonyTurn(
  { calls, thought }: { calls: TurnConstraint['calls'] | undefined; thought: ThoughtStart },
  { content, tools }: TurnParts,
  { marks = {} }: CodedCalls,
  { rules }: Grammar,
  { addMessageText, alternatives, literal, marked, optional, rule, sequence }: GrammarKit,
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
