import type { Expr, Grammar } from '../../constraints/index.ts'
import type { CodedCalls } from '../answer-format.ts'
import type { CallFormat, TaggedValue } from '../call-format.ts'
import type { TurnParts } from '../grammar/calls.ts'
import { argumentReader } from '../reading/arguments.ts'
import { callReader } from '../reading/call-reader.ts'
import { short } from '../reading/literals.ts'
import { type CallsOfMessages, type MessageForm, recipientOf } from '../reading/messages.ts'
import { afterSpace, type PieceReader, type Source, untilCertain } from '../reading/source.ts'
import type { ThoughtStart } from '../reasoning/reasoning-format.ts'
import type { TurnConstraint } from '../turn-constraint.ts'
import type { CodedForm, GrammarKit } from './coded-form.ts'

const value: TaggedValue = {
  before: '<atem:parameter name="',
  mid: '">',
  after: '</atem:parameter>\n',
  written: 'json',
}

/** How Muse writes a call, in a separate message to the tool. */
const museCall: CallFormat = {
  open: ['<atem:function_calls>\n<atem:invoke name="'],
  mid: ['">\n'],
  arguments: {
    kind: 'tagged',
    head: '',
    between: '',
    tail: '',
    values: {
      string: { ...value, written: 'raw' },
      number: value,
      boolean: value,
      null: value,
      object: value,
      array: value,
    },
  },
  close: ['</atem:invoke>\n</atem:function_calls>'],
  ids: 'any',
  isAnchored: true,
}

/** Messages to itself, to the user and to tools. */
export const muse: CodedForm = {
  marks: ['<|start|>', '<|message|>', '<|eom|>', '<|eot|>'],
  isWritten: (call) => call.includes('to=qzfA<|message|>') && call.includes('<atem:invoke'),
  calls: museCall,
  form: museForm,
  addTurn: addMuseTurn,
}

/** Messages by recipient: to itself is a thought, to the user is content, and to a tool is a call. */
function museForm(marks: Readonly<Record<string, string>>, calls: CallsOfMessages | undefined): MessageForm {
  const mark = (name: string) => marks[name] ?? name
  const start = mark('<|start|>')
  const reader =
    calls &&
    callReader(museCall, calls.tools, {
      isParallel: false,
      isJson: false,
      argumentsOf: (behind) => argumentReader(museCall, behind),
    })
  let isCalled = false
  return {
    start,
    message: mark('<|message|>'),
    ends: [mark('<|eom|>'), mark('<|eot|>')],
    begins: [start, 'to='],
    wordBegins: ['to='],
    isThought: (header) => recipientOf(header) === 'self',
    *readCall(source, collector, header) {
      const recipient = recipientOf(header)
      if (reader === undefined || recipient === 'self' || recipient === 'user') return 'none'
      if (isCalled && !calls?.isParallel) return 'none'
      const begun = yield* untilCertain(source, afterSpace([reader.first]))
      if (begun === 'no') return 'none'
      isCalled = true
      source.at = begun.end
      collector.call(begun.tool.name)
      if (begun.isCut || !(yield* reader.readArguments(source, collector, begun.tool))) {
        source.at = source.text.length
        return 'over'
      }
      collector.callEnd()
      yield* readClose(source, reader.close)
      return 'read'
    },
  }
}

function* readClose(source: Source, close: (text: string, at: number) => number): PieceReader<void> {
  for (;;) {
    const end = close(source.text, source.at)
    if (end >= 0) source.at = end
    if (end !== short || source.isOver) return
    yield
  }
}

/** Names of recipients that are not tools. */
const taken = new Set(['self', 'user', 'assistant'])

/** A turn of Muse: messages to itself, to the user and to tools. The grammar applies from the first character on. */
function addMuseTurn(
  { calls, thought }: { calls: TurnConstraint['calls'] | undefined; thought: ThoughtStart },
  { content, tools }: TurnParts,
  { marks = {} }: CodedCalls,
  { rules }: Grammar,
  { addMessageText, alternatives, literal, literalExpr, marked, never, optional, rule, sequence }: GrammarKit,
): void {
  const name = (mark: string) => marks[mark] ?? mark
  const [message, ended, over] = [marked(name('<|message|>')), name('<|eom|>'), name('<|eot|>')]
  const isAuto = calls === undefined || calls.choice === 'auto'
  const mayRepeat = calls?.isParallel === true && typeof calls.choice === 'string'
  const textMarks = { start: name('<|start|>'), ends: [ended, over] }
  const next = (recipient: string) => sequence(literal('assistant to='), rule(recipient))

  const literalOf = (pieces: typeof museCall.open, isAfterName: boolean): Expr =>
    literalExpr({ literal: pieces, isAfterName, isBeforeName: !isAfterName, isJson: false, ids: 'any' })
  const called = tools
    .filter((tool) => !taken.has(tool.name))
    .map((tool) =>
      sequence(
        literal(tool.name),
        message,
        literalOf(museCall.open, false),
        literal(tool.name),
        literalOf(museCall.mid, true),
        tool.arguments,
        literalOf(museCall.close, false),
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
