import { readJson } from './json-arguments.ts'
import { type CallsOfMessages, type MessageForm, recipientOf } from './messages.ts'
import { isSpace, type PieceReader, type Source } from './source.ts'

/**
 * The channels of gpt-oss: `<|channel|>analysis<|message|>` is a thought, and a message to a function is a call. The
 * recipient comes before or after the channel.
 */
export function harmonyForm(
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
