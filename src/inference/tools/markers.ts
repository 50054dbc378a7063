import type { AnswerFormat, CodedCalls, CodedFormat } from '../answer-format.ts'
import { firstMarker, lastMarker } from '../control-tokens.ts'
import type { CallFormat, Literal, TaggedArguments, TaggedValue } from './call-format.ts'
import { gigachat } from './gigachat.ts'

/** The marks of each of the own formats. */
const ownMarks: Readonly<Record<Exclude<CodedFormat, 'gigachat'>, readonly string[]>> = {
  harmony: ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>', '<|end|>', '<|call|>', '<|return|>'],
  muse: ['<|start|>', '<|message|>', '<|eom|>', '<|eot|>'],
}

/**
 * The format as answers are written: the names of control tokens in its literals are replaced by their markers.
 * `markers` has those names, by the index of the marker.
 */
export function resolved(
  format: AnswerFormat,
  controlTokens: readonly string[],
): { format: AnswerFormat; markers: string[] } {
  const markers: string[] = []
  // If one name begins with another, the longer one is meant.
  const names = [...new Set(controlTokens)].filter((name) => name !== '').sort((a, b) => b.length - a.length)

  function markerOf(name: string): string {
    const known = markers.indexOf(name)
    if (known !== -1) return String.fromCharCode(firstMarker + known)
    const marker = firstMarker + markers.length
    if (marker > lastMarker) return name
    markers.push(name)
    return String.fromCharCode(marker)
  }

  function text(literal: string): string {
    let written = ''
    for (let at = 0; at < literal.length; ) {
      const name = names.find((one) => literal.startsWith(one, at))
      written += name === undefined ? literal[at] : markerOf(name)
      at += name?.length ?? 1
    }
    return written
  }

  const literal = (parts: Literal): Literal =>
    parts.map((part) => (typeof part === 'string' ? text(part) : part))

  function argumentsOf(given: CallFormat['arguments']): CallFormat['arguments'] {
    if (given.kind === 'tagged') return tagged(given)
    return given.kind === 'elements' ? { ...given, prefix: text(given.prefix) } : given
  }

  const tagged = (given: TaggedArguments): TaggedArguments => ({
    ...given,
    head: text(given.head),
    between: text(given.between),
    tail: text(given.tail),
    ...(given.empty === undefined ? {} : { empty: text(given.empty) }),
    ...(given.quote === undefined ? {} : { quote: text(given.quote) }),
    values: {
      string: value(given.values.string),
      number: value(given.values.number),
      boolean: value(given.values.boolean),
      null: value(given.values.null),
      object: value(given.values.object),
      array: value(given.values.array),
    },
  })

  const value = (given: TaggedValue): TaggedValue => ({
    ...given,
    before: text(given.before),
    mid: text(given.mid),
    after: text(given.after),
    ...(given.wrap && { wrap: { open: text(given.wrap.open), close: text(given.wrap.close) } }),
  })

  function calls(given: CallFormat | CodedCalls): CallFormat | CodedCalls {
    if ('own' in given) {
      // GigaChat is plain data except for the role at the beginning of its calls, which no template shows after a
      // generation prompt.
      if (given.own === 'gigachat') return calls(gigachat)
      const marks = ownMarks[given.own].map((name) => [name, text(name)])
      return { ...given, marks: Object.fromEntries(marks) }
    }
    return {
      ...given,
      open: literal(given.open),
      mid: literal(given.mid),
      arguments: argumentsOf(given.arguments),
      ...(given.gap === undefined ? {} : { gap: literal(given.gap) }),
      close: literal(given.close),
    }
  }

  const { reasoning } = format
  return {
    format: {
      ...format,
      ...(reasoning === undefined
        ? {}
        : { reasoning: { ...reasoning, open: text(reasoning.open), close: text(reasoning.close) } }),
      calls: calls(format.calls),
      ...(format.closings === undefined ? {} : { closings: format.closings.map(text) }),
    },
    markers,
  }
}
