import type { ThoughtStart } from '../../reasoning/reasoning-format.ts'
import type { OfferedTool } from '../offered-tool.ts'
import { readJson } from './json-arguments.ts'
import { absent, exactly, short } from './literals.ts'
import type { Said } from './said.ts'
import { isSecondHalf, isSpace, type Reading, readUntil, type Seeker, type Source } from './source.ts'

export interface HarmonyOptions {
  marks: Readonly<Record<string, string>>
  thought: ThoughtStart
  /** Absent where calls are not read. */
  calls: { tools: readonly OfferedTool[]; isParallel: boolean } | undefined
}

/** No header of a message is longer. */
const mostOfHeader = 512

/** What the header of a message says. */
interface Header {
  channel: string | undefined
  recipient: string | undefined
}

/**
 * Reads messages in the channels of gpt-oss: `<|channel|>analysis<|message|>` is thought, a message to a function is a call, and
 * all others are content. The recipient stands before the channel or behind it.
 */
export function* readHarmony(
  source: Source,
  said: Said,
  { marks, thought, calls }: HarmonyOptions,
): Reading<void> {
  const mark = (name: string) => marks[name] ?? name
  const [start, channel, message] = [mark('<|start|>'), mark('<|channel|>'), mark('<|message|>')]
  const ends = [
    ...[mark('<|end|>'), mark('<|return|>'), mark('<|call|>')].map((text) => ending(text, text.length)),
    // A message that the model forgot to end is over where the next one begins.
    ending(start, 0),
  ]
  let isCalled = false
  let header: Header | undefined =
    thought === 'open' ? { channel: 'analysis', recipient: undefined } : yield* readHeader()
  while (header !== undefined) {
    if (!(yield* readBody(header))) return
    header = yield* readHeader()
  }
  // No message stands here: the rest is said as it is.
  yield* readUntil(source, [], said.content)

  /** Undefined where no header stands, or one that does not end. */
  function* readHeader(): Reading<Header | undefined> {
    for (;;) {
      const { text, at, isOver } = source
      let from = at
      while (from < text.length && isSpace(text.charCodeAt(from))) from++
      const begun = [start, channel, 'to='].map((one) => exactly(one)(text, from))
      const isBegun = begun.some((end) => end >= 0)
      if (!isBegun && !begun.includes(short)) return undefined
      const end = isBegun ? positionOf(message, text, at) : -1
      if (end !== -1) {
        source.at = end + message.length
        return headerOf(text.slice(at, end))
      }
      if (text.length - at > mostOfHeader) return undefined
      if (isOver) {
        // The beginning of a header is no content.
        if (isBegun && !text.startsWith('to=', from)) source.at = text.length
        return undefined
      }
      yield
    }
  }

  function headerOf(text: string): Header {
    const found = text.lastIndexOf(channel)
    const recipients = Array.from(text.matchAll(/\bto=([^\s<\udc00-\udfff]+)/g), ([, name]) => name)
    return {
      channel: found === -1 ? undefined : /^\w*/.exec(text.slice(found + channel.length))?.[0],
      recipient: recipients.findLast((name) => name !== 'assistant'),
    }
  }

  function* readBody({ channel: name, recipient }: Header): Reading<boolean> {
    const tool = calls?.tools.find((one) => recipient === `functions.${one.name}`)
    let say = said.content
    if (tool !== undefined && (calls?.isParallel || !isCalled) && (yield* isObject())) {
      isCalled = true
      said.call(tool.name)
      if (!(yield* readJson(source, said.arguments))) return false
      said.callEnd()
    } else if (name === 'analysis' && recipient === undefined) {
      said.beginThought()
      say = said.thought
    } else said.beginMessage()
    const found = yield* readUntil(source, ends, say)
    if (say === said.thought && found !== undefined) said.endThought()
    source.at += found?.length ?? 0
    return found !== undefined
  }

  /** What has come so far does not tell in a call that was cut off. */
  function* isObject(): Reading<boolean> {
    for (;;) {
      const { text } = source
      while (source.at < text.length && isSpace(text.charCodeAt(source.at))) source.at++
      if (source.at < text.length) return text[source.at] === '{'
      if (source.isOver) return true
      yield
    }
  }
}

/** Where a message ends; so much of it is read. */
function ending(text: string, length: number): Seeker<{ length: number }> {
  const match = exactly(text)
  return {
    firsts: new Set([text.charCodeAt(0)]),
    seek(given, at) {
      const end = match(given, at)
      return end === short ? 'more' : end === absent ? 'no' : { length }
    },
  }
}

/** Of a mark in a header that begins here; -1 where there is none. */
function positionOf(mark: string, text: string, from: number): number {
  let found = text.indexOf(mark, from)
  while (found !== -1 && isSecondHalf(text, found)) found = text.indexOf(mark, found + 1)
  return found - from > mostOfHeader ? -1 : found
}
