import { hash } from 'node:crypto'
import { z } from 'zod'
import { plainText } from '../../domain/fields.ts'

/** The longest line of an input, in bytes. */
export const maxLineBytes = 1 << 20

interface InputLine {
  /** From 1. */
  line: number
  /** Where it begins in the file. */
  at: number
  length: number
  /** Undefined if it is too long. */
  bytes: Buffer | undefined
}

const newline = 0x0a

/** The lines of a file as its pieces are read. No more than a line and a piece are in memory. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<InputLine> {
  let [line, at, length] = [1, 0, 0]
  let held: Buffer[] = []
  const hold = (bytes: Buffer) => {
    length += bytes.length
    if (length <= maxLineBytes) held.push(bytes)
    else held = []
  }
  const whole = (): InputLine => ({
    ...{ line, at, length },
    bytes: length > maxLineBytes ? undefined : Buffer.concat(held),
  })
  for await (const piece of pieces) {
    const buffer = Buffer.from(piece.buffer, piece.byteOffset, piece.length)
    let from = 0
    for (let end = buffer.indexOf(newline); end !== -1; end = buffer.indexOf(newline, from)) {
      hold(buffer.subarray(from, end))
      yield whole()
      line++
      at += length + 1
      ;[held, length] = [[], 0]
      from = end + 1
    }
    hold(buffer.subarray(from))
  }
  if (length > 0) yield whole()
}

/** Why an input is refused, as OpenAI says it. */
export interface InputError {
  code: string
  line: number | null
  message: string
  param: string | null
}

const customId = plainText(512).min(1)
const Line = z.object({
  custom_id: customId,
  method: z.literal('POST'),
  url: z.string(),
  body: z.record(z.string(), z.unknown()),
})

const expected: Record<string, string> = {
  custom_id: 'a string of 1 to 512 characters, unique in the file',
  method: '"POST"',
  url: 'the endpoint of the batch',
  body: 'an object, the body of the request',
}

const text = new TextDecoder('utf-8', { fatal: true })

/** Checks the lines of one input after the other. */
export function createLineCheck(endpoint: string) {
  /** Their digests, because 50,000 ids may be long. */
  const known = new Set<string>()

  function isNew(id: string): boolean {
    const digest = hash('sha256', id, 'base64')
    if (known.has(digest)) return false
    known.add(digest)
    return true
  }

  /** Undefined for a line without content. */
  return ({ line, bytes }: InputLine): { custom_id: string } | { error: InputError } | undefined => {
    const error = (code: string, param: string | null, message: string) => ({
      error: { code, line, message, param },
    })
    if (bytes === undefined)
      return error('line_too_large', null, `The line is longer than ${maxLineBytes} bytes.`)
    let value: unknown
    try {
      const content = text.decode(bytes)
      if (content.trim() === '') return undefined
      value = JSON.parse(content)
    } catch {
      return error('invalid_json_line', null, 'This line is not parseable as valid JSON.')
    }
    const result = Line.safeParse(value)
    if (!result.success) {
      const param = String(result.error.issues[0]?.path[0] ?? '')
      if (param === '') return error('invalid_json_line', null, 'Expected an object.')
      const isMissing = (value as Record<string, unknown>)[param] === undefined
      const code = isMissing ? 'missing_required_parameter' : `invalid_${param}`
      return error(code, param, `${param}: expected ${expected[param]}.`)
    }
    const { custom_id, url, body } = result.data
    if (url !== endpoint)
      return error('invalid_url', 'url', `url: ${JSON.stringify(url.slice(0, 80))}; expected ${endpoint}.`)
    // Also as a text or a number, which the routes read as true.
    if (body.stream != null && body.stream !== false)
      return error(
        'invalid_body',
        'body.stream',
        'body.stream: true; expected false: answers of a batch are whole.',
      )
    if (!isNew(custom_id))
      return error(
        'duplicate_custom_id',
        'custom_id',
        `custom_id: ${JSON.stringify(custom_id.slice(0, 80))} is on an earlier line, too.`,
      )
    return { custom_id }
  }
}
