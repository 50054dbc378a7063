import { muse } from '../muse.ts'
import { argumentReader } from './arguments.ts'
import { callReader } from './call-reader.ts'
import { short } from './literals.ts'
import { type CallsOfMessages, type MessageForm, recipientOf } from './messages.ts'
import { afterSpace, type PieceReader, type Source, untilCertain } from './source.ts'

/** Messages by recipient: to itself is a thought, to the user is content, and to a tool is a call. */
export function museForm(
  marks: Readonly<Record<string, string>>,
  calls: CallsOfMessages | undefined,
): MessageForm {
  const mark = (name: string) => marks[name] ?? name
  const start = mark('<|start|>')
  const reader =
    calls &&
    callReader(muse, calls.tools, {
      isParallel: false,
      isJson: false,
      argumentsOf: (behind) => argumentReader(muse, behind),
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
