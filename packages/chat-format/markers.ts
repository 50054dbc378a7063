import type { AnswerFormat, CodedCalls } from './answer-format.ts'
import type { CallFormat, Literal, TaggedArguments, TaggedValue } from './call-format.ts'
import { codedForms } from './coded/coded-forms.ts'
import { firstMarker, lastMarker } from './control-tokens.ts'

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
      const name = names.find((candidate) => literal.startsWith(candidate, at))
      written += name === undefined ? literal[at] : markerOf(name)
      at += name?.length ?? 1
    }
    return written
  }

  const literal = (pieces: Literal): Literal =>
    pieces.map((piece) => (typeof piece === 'string' ? text(piece) : piece))

  function argumentsOf(form: CallFormat['arguments']): CallFormat['arguments'] {
    if (form.kind === 'tagged') return tagged(form)
    return form.kind === 'elements' ? { ...form, prefix: text(form.prefix) } : form
  }

  const tagged = (form: TaggedArguments): TaggedArguments => ({
    ...form,
    head: text(form.head),
    between: text(form.between),
    tail: text(form.tail),
    ...(form.empty === undefined ? {} : { empty: text(form.empty) }),
    ...(form.quote === undefined ? {} : { quote: text(form.quote) }),
    values: {
      string: value(form.values.string),
      number: value(form.values.number),
      boolean: value(form.values.boolean),
      null: value(form.values.null),
      object: value(form.values.object),
      array: value(form.values.array),
    },
  })

  const value = (marks: TaggedValue): TaggedValue => ({
    ...marks,
    before: text(marks.before),
    mid: text(marks.mid),
    after: text(marks.after),
    ...(marks.wrap && { wrap: { open: text(marks.wrap.open), close: text(marks.wrap.close) } }),
  })

  function calls(format: CallFormat | CodedCalls): CallFormat | CodedCalls {
    if ('own' in format) {
      const { form, calls: data, marks: names } = codedForms[format.own]
      if (form === undefined) return calls(data)
      const marks = names.map((name) => [name, text(name)])
      return { ...format, marks: Object.fromEntries(marks) }
    }
    return {
      ...format,
      open: literal(format.open),
      mid: literal(format.mid),
      arguments: argumentsOf(format.arguments),
      ...(format.gap === undefined ? {} : { gap: literal(format.gap) }),
      close: literal(format.close),
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
