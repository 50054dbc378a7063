import { readJson, readQuotedText } from './json-arguments.ts'
import type { Opening } from './openings.ts'
import type { Said } from './said.ts'
import { type Reading, readSpace, type Source } from './source.ts'

/** Reads the arguments of a call. False when the text is over before they are. */
export function* readArguments(source: Source, said: Said, _call: Opening): Reading<boolean> {
  yield* readSpace(source, 64)
  const first = source.text[source.at]
  if (first === '"') return yield* readQuotedText(source, said.arguments)
  if (first === '{') return yield* readJson(source, said.arguments)
  source.at += 'null'.length
  said.arguments('{}')
  return true
}
