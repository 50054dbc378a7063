import { V7Generator } from 'uuidv7'

const generator = new V7Generator()

/**
 * Ids sort by the time they were made, so that tables and indexes grow at their end. They count from 1970: a clock that is
 * before that gives them its first moment.
 */
export function newId(): string {
  return generator.generateOrResetWithTs(Math.max(0, Date.now())).toString()
}

const uuid = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}'

/** A UUID, or a span id of OpenTelemetry. */
export const callIdPattern = new RegExp(`^(?:${uuid}|[0-9a-f]{16})$`)

/** The trace of a call that names none. A span id is filled up with zeros, as trace ids of 64 bits are. */
export function traceOf(callId: string): string {
  return callId.length === 16 ? callId.padStart(32, '0') : callId
}

/** A UUID, or a trace id of OpenTelemetry. */
export const traceIdPattern = new RegExp(`^(?:${uuid}|[0-9a-f]{32})$`)

/** The beginnings of the ids of chat and text completions, responses and messages. What follows may be the caller's own. */
const completionPrefix = /^(?:chatcmpl-|cmpl-|resp_|msg_)./s

export const isCompletionId = (id: string): boolean => completionPrefix.test(id)
