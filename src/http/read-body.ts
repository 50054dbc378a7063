import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { DepthError, readJson } from '../domain/json/read.ts'
import { refuse } from '../domain/refusals.ts'
import { shapeOf } from './body-shapes.ts'

/** What a route keeps of its bodies: all but these members. */
export interface KeptBody {
  without: readonly string[]
}

/** Deep enough for any record, shallow enough that nothing that walks it runs out of stack. */
const deepestBody = 200

/** What a contract may take of a body. What it keeps as text is text; the contract itself has not looked at it yet. */
export function readBody(bytes: Buffer, contract: z.ZodType | undefined): unknown {
  return readText(textOf(bytes), contract)
}

/** Throws the refusal of what is no text. */
export function textOf(bytes: Buffer): string {
  if (bytes.length === 0) throw refuse('malformed_json', { why: 'it is empty' })
  if (!isUtf8(bytes)) throw refuse('malformed_json', { why: 'it is not UTF-8' })
  // It cannot be seen in a message that shows the first character, nor in most editors.
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
