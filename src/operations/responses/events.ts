import { writeJson } from '../../domain/json/text.ts'
import type { OutputEvent } from './output.ts'

/** An event of a stream, as it is sent. */
export interface ResponseEvent extends OutputEvent {
  sequence_number: number
}

export function numbering() {
  let next = 0
  return ({ type, ...rest }: OutputEvent): ResponseEvent => ({ type, sequence_number: next++, ...rest })
}

/** Each event has an `event:` line with its type, because some clients dispatch on it. */
export const writeEvent = (event: object): string =>
  `event: ${(event as ResponseEvent).type}\ndata: ${writeJson(event)}\n\n`
