import type { CallFormat, Literal } from '../call-format.ts'
import type { OfferedTool } from '../offered-tool.ts'
import { elementsBegin, readElements } from './element-arguments.ts'
import { jsonEscapeAt, readJson } from './json-arguments.ts'
import { absent, type Ending, type Matcher, short } from './literals.ts'
import { pythonBegins, readPython } from './python-arguments.ts'
import { readQuotedText } from './quoted-text.ts'
import type { Said } from './said.ts'
import { type Reading, readSpace, type Source } from './source.ts'
import { readTagged, taggedBegin, taggedMarks } from './tagged-arguments.ts'

export interface ArgumentReader {
  /** Whether arguments begin at a position. */
  begins: Matcher
  /** False when the text ends before the arguments do. */
  read(source: Source, said: Said, tool: OfferedTool): Reading<boolean>
}

export function argumentReader(
  { arguments: given, close, gap }: CallFormat,
  behind: Matcher,
): ArgumentReader {
  switch (given.kind) {
    case 'json':
      return { begins: jsonBegins, read: readJsonArguments }
    case 'python':
      return { begins: pythonBegins, read: readPython }
    case 'elements':
      return {
        begins: elementsBegin(given, behind),
        read: (source, said, tool) => readElements(source, said, given, tool),
      }
    case 'tagged': {
      const marks = taggedMarks(given, behind, [textOf(close), textOf(gap)])
      return {
        begins: taggedBegin(marks),
        read: (source, said, tool) => readTagged(source, said, marks, tool),
      }
    }
  }
}

/** Up to the first hole. */
function textOf([first = '']: Literal = []): string {
  return typeof first === 'string' ? first : ''
}

const mostSpace = 64

/** Arguments are an object, or the text of one; JSON of another kind is not a call. */
function jsonBegins(text: string, at: number): Ending {
  const rest = text.slice(at, at + mostSpace).trimStart()
  if (rest === '') return at + mostSpace > text.length ? short : absent
  if (rest.startsWith('{') || rest.startsWith('"')) return at
  if (!'null'.startsWith(rest.slice(0, 4))) return absent
  return rest.length < 4 ? short : at
}

function* readJsonArguments(source: Source, said: Said): Reading<boolean> {
  yield* readSpace(source, mostSpace)
  const first = source.text[source.at]
  if (first === '"') return yield* readQuotedText(source, said.arguments, jsonEscapeAt)
  if (first === '{') return yield* readJson(source, said.arguments)
  source.at += 'null'.length
  said.arguments('{}')
  return true
}
