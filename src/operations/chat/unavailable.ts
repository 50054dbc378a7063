import type { JsonText } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { wrong } from '../generation/checks.ts'
import type { ChatBody } from './contract.ts'

/** Refused by name rather than ignored, because this version has no tool calls. */
export function refuseToolChoice({ tool_choice }: ChatBody): void {
  if (tool_choice == null || tool_choice === 'none') return
  const given = typeof tool_choice === 'string' ? JSON.stringify(tool_choice) : 'a function'
  throw refuse('not_available', { field: 'tool_choice', given, accepted: '"none"' })
}

const isExtra = (value: unknown) => typeof value === 'string' || typeof value === 'number'

export function checkExtras(field: string, extras: JsonText | null | undefined): void {
  for (const [name, value] of Object.entries((extras?.value ?? {}) as object)) {
    if (!isExtra(value) && !(Array.isArray(value) && value.every(isExtra))) {
      throw wrong(`${field}.${name}`, 'another value', 'a text, a number, or a list of these')
    }
  }
}
