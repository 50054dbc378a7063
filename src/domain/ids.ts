import { uuidv7 } from 'uuidv7'

/** Ids sort by the time they were made, so that tables and indexes grow at their end. */
export function newId(): string {
  return uuidv7()
}

const uuid = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}'

/** A UUID, or a span id of OpenTelemetry. */
export const callIdPattern = new RegExp(`^(?:${uuid}|[0-9a-f]{16})$`)

/** A UUID, or a trace id of OpenTelemetry. */
export const traceIdPattern = new RegExp(`^(?:${uuid}|[0-9a-f]{32})$`)
