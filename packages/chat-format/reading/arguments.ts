import type { CallFormat, Literal } from '../call-format.ts'
import type { OfferedTool } from '../offered-tool.ts'
import { elementsBegin, readElements } from './element-arguments.ts'
import { jsonEscapeAt, readJson } from './json-arguments.ts'
import { absent, type Ending, type Matcher, short } from './literals.ts'
import type { PartCollector } from './part-collector.ts'
import { pythonBegins, readPython } from './python-arguments.ts'
import { readQuotedText } from './quoted-text.ts'
import { type PieceReader, readSpace, type Source } from './source.ts'
import { readTagged, taggedBegin, taggedMarks } from './tagged-arguments.ts'

export interface ArgumentReader {
  /** Whether arguments begin at a position. */
  begins: Matcher
  /** False when the text ends before the arguments do. */
  read(source: Source, collector: PartCollector, tool: OfferedTool): PieceReader<boolean>
}

export function argumentReader({ arguments: form, close, gap }: CallFormat, behind: Matcher): ArgumentReader {
  switch (form.kind) {
    case 'json':
      return { begins: jsonBegins, read: readJsonArguments }
    case 'python':
      return { begins: pythonBegins, read: readPython }
    case 'elements':
      return {
        begins: elementsBegin(form, behind),
        read: (source, collector, tool) => readElements(source, collector, form, tool),
      }
    case 'tagged': {
      const marks = taggedMarks(form, behind, [textOf(close), textOf(gap)])
      return {
        begins: taggedBegin(marks),
        read: (source, collector, tool) => readTagged(source, collector, marks, tool),
      }
    }
  }
}

/** Up to the first hole. */
function textOf([first = '']: Literal = []): string {
  return typeof first === 'string' ? first : ''
}

const maxSpace = 64

/** Arguments are an object, or the text of one; JSON of another kind is not a call. */
function jsonBegins(text: string, at: number): Ending {
  const rest = text.slice(at, at + maxSpace).trimStart()
  if (rest === '') return at + maxSpace > text.length ? short : absent
  if (rest.startsWith('{') || rest.startsWith('"')) return at
  if (!'null'.startsWith(rest.slice(0, 4))) return absent
  return rest.length < 4 ? short : at
}

function* readJsonArguments(source: Source, collector: PartCollector): PieceReader<boolean> {
  yield* readSpace(source, maxSpace)
  const first = source.text[source.at]
  if (first === '"') return yield* readQuotedText(source, collector.arguments, jsonEscapeAt)
  if (first === '{') return yield* readJson(source, collector.arguments)
  source.at += 'null'.length
  collector.arguments('{}')
  return true
}
