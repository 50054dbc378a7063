import { createHash } from 'node:crypto'
import { V7Generator } from 'uuidv7'
import { clockNow } from './clock.ts'

const generator = new V7Generator()

/**
 * Ids sort by creation time, so that tables and indexes grow at their end. Their time counts from 1970; a clock before
 * that gives 0.
 */
export function newId(): string {
  return generator.generateOrResetWithTs(Math.max(0, clockNow())).toString()
}

const uuid = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}'

/** A UUID, or an OpenTelemetry span id. */
export const callIdPattern = new RegExp(`^(?:${uuid}|[0-9a-f]{16})$`)

/** The trace of a call that names none. A span id is padded with zeros, like trace ids of 64 bits. */
export function traceOf(callId: string): string {
  return callId.length === 16 ? callId.padStart(32, '0') : callId
}

/** A UUID, or an OpenTelemetry trace id. */
export const traceIdPattern = new RegExp(`^(?:${uuid}|[0-9a-f]{32})$`)

/**
 * The prefixes of the ids of chat and text completions, responses, messages, embeddings, rankings and decisions. The caller may
 * have chosen what follows.
 */
const completionPrefix = /^(?:chatcmpl-|cmpl-|resp_|msg_|embd-|rerank-|decision-)./s

export const isCompletionId = (id: string): boolean => completionPrefix.test(id)

/** An answer of the Messages API is called as the id of its request, which Claude Code knows. */
export const messageId = (request: string): string => `msg_${request}`

/** The id of something that may exist only once: the same text gives the same UUID (version 8 of RFC 9562). */
export function idOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  const variant = ((Number.parseInt(hex[16] as string, 16) & 3) | 8).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
