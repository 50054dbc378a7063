import type { CallFormat } from '../call-format.ts'
import { readArguments } from './arguments.ts'
import { absent, type Matcher, short, tolerantly } from './literals.ts'
import { behindValue, type Opening, type OpeningSeekers } from './openings.ts'
import type { Said } from './said.ts'
import type { Reading, Source } from './source.ts'

/** Reads a call from its arguments on, the calls that follow it, and what closes them. */
export function* readCalls(
  source: Source,
  said: Said,
  opening: Opening,
  next: OpeningSeekers['next'],
): Reading<void> {
  const close = closeOf(opening.format)
  for (let call: Opening | undefined = opening; call !== undefined; ) {
    source.at = call.end
    said.call(call.tool.name)
    if (call.isCut || !(yield* readArguments(source, said, call))) {
      source.at = source.text.length
      return
    }
    said.callEnd()
    call = yield* afterCall(source, close, next)
  }
}

/** The next call where there is one. Else what closes the calls is read, as far as it stands there. */
function* afterCall(
  source: Source,
  close: Matcher,
  next: OpeningSeekers['next'],
): Reading<Opening | undefined> {
  for (;;) {
    const { text, at, isOver } = source
    const found = next === undefined ? 'no' : next.seek(text, at, isOver)
    if (found !== 'no' && found !== 'more') return found
    const end = found === 'more' ? short : close(text, at)
    if (end !== short || isOver) {
      // The beginning of a mark at the end of the text is no content.
      source.at = end >= 0 ? end : end === absent ? at : text.length
      return undefined
    }
    yield
  }
}

function closeOf({ close, arguments: { kind } }: CallFormat): Matcher {
  const isJson = kind === 'json'
  return tolerantly(behindValue(close, isJson), { isAfterName: false, isBeforeName: false, isJson })
}
