import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { DepthError, readJson } from '../domain/json/read.ts'
import { refuse } from '../domain/refusals.ts'
import { shapeOf } from './body-shapes.ts'

/** What a route keeps of its bodies: everything except these members. */
export interface BodyExclusions {
  without: readonly string[]
}

/** Deep enough for any record, shallow enough that nothing that walks it overflows the stack. */
const deepestBody = 200

/**
 * Parses what a contract accepts of a body. Values that it keeps as text are text; the contract itself is applied
 * later.
 */
export function readBody(bytes: Buffer, contract: z.ZodType | undefined): unknown {
  return readText(textOf(bytes), contract)
}

/** Throws a refusal if the bytes are not valid text. */
export function textOf(bytes: Buffer): string {
  if (bytes.length === 0) throw refuse('malformed_json', { why: 'it is empty' })
  if (!isUtf8(bytes)) throw refuse('malformed_json', { why: 'it is not UTF-8' })
  // A byte order mark is invisible in a message that shows the first character, and in most editors.
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    throw refuse('malformed_json', {
      why: 'it begins with a byte order mark (U+FEFF), which JSON does not have',
    })
  return bytes.toString()
}

export function readText(text: string, contract: z.ZodType | undefined): unknown {
  try {
    return readJson(text, contract ? shapeOf(contract) : {}, deepestBody)
  } catch (error) {
    if (error instanceof DepthError) throw refuse('body_too_deep', { limit: deepestBody })
    if (error instanceof SyntaxError) throw refuse('malformed_json', { why: error.message })
    throw error
  }
}
