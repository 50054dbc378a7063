import type { AnswerFormat } from './answer-format.ts'
import type { CallFormat, Literal } from './call-format.ts'
import type { OfferedTool } from './offered-tool.ts'

/**
 * Calls in forms that many models write although their template shows another one. They begin an answer, and an answer
 * that begins with one has this single call.
 */
export interface AlternativeSpelling {
  opens: readonly string[]
  /** After the name: nothing but a call can continue like this. */
  certain: string
  /** From there to the arguments, which are JSON. */
  mids: readonly string[]
  close: string
}

const fence = '```json\n'

const all: readonly AlternativeSpelling[] = [
  {
    opens: ['{"name": "', `${fence}{"name": "`],
    certain: '", "',
    mids: ['arguments": ', 'parameters": '],
    close: '}',
  },
  { opens: ['<function='], certain: '', mids: ['>'], close: '</function>' },
]

/** Each character is a rule of the grammar, for each spelling. */
const maxCharacters = 600

interface Asked {
  calls?:
    | { format: AnswerFormat['calls']; tools: readonly OfferedTool[]; choice: 'auto' | 'required' | object }
    | undefined
  /** The constraint of the content. JSON that was asked for is never a call. */
  content?: unknown
}

/**
 * The spellings with which an answer may begin: only if the answer is free, and the tools' names are not too long
 * together.
 */
export function alternativeSpellings({ calls, content }: Asked): AlternativeSpelling[] {
  if (calls === undefined || calls.choice !== 'auto' || content !== undefined) return []
  const { format, tools } = calls
  if ('own' in format || tools.reduce((sum, { name }) => sum + name.length, 0) > maxCharacters) return []
  const own = plain(format.open)
  const isOwn = (open: string) => own === '' || own.startsWith(plain([open])) || plain([open]).startsWith(own)
  return all
    .map((spelling) => ({ ...spelling, opens: spelling.opens.filter((open) => !isOwn(open)) }))
    .filter(({ opens }) => opens.length > 0)
}

/** The spelling as call formats, for reading. */
export function formatsOf({ opens, certain, mids, close }: AlternativeSpelling): CallFormat[] {
  return opens.flatMap((open) =>
    mids.map(
      (mid): CallFormat => ({
        open: [open],
        mid: [certain + mid],
        arguments: { kind: 'json', isQuoted: false },
        close: [open.startsWith(fence) ? `${close}\n\`\`\`` : close],
        ids: 'any',
        isAnchored: true,
      }),
    ),
  )
}

/**
 * The same format without the mark that opens all calls of a turn, which models sometimes leave out: `<function=` of
 * `<tool_call><function=`.
 */
export function withoutFirstMark(format: CallFormat): CallFormat | undefined {
  const [first, ...rest] = format.open
  const mark =
    typeof first === 'string' && !format.isAnchored
      ? /^\s*(?:[\udc00-\udfff]|<[^<>]+>)\s*(?=[\udc00-\udfff<])/u.exec(first)?.[0]
      : undefined
  if (typeof first !== 'string' || mark === undefined) return undefined
  return { ...format, open: [first.slice(mark.length), ...rest] }
}

/** Without white space, up to the first hole. */
function plain([first = '']: Literal): string {
  return typeof first === 'string' ? first.replaceAll(/\s/g, '') : ''
}
