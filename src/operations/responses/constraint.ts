import { wrong } from '../../domain/refusals.ts'
import type { CompileQuestion } from '../../inference/constraints/constraint.ts'
import { constraintOf } from '../generation/constraint.ts'
import type { ResponsesBody } from './contract.ts'

/** The constraint that text.format or structured_outputs asks for; undefined when the answer is free. */
export function formatOf({ text, structured_outputs }: ResponsesBody): CompileQuestion | undefined {
  const format = text?.format
  const isFree = format == null || format.type === 'text'
  if (structured_outputs != null) {
    const asked = constraintOf({ structured_outputs, response_format: undefined, use_beam_search: undefined })
    if (!isFree && asked !== undefined) {
      throw wrong(
        'structured_outputs',
        `${asked.constraint.kind} together with text.format`,
        'one constraint per request',
      )
    }
    if (asked !== undefined) return asked
  }
  if (isFree) return undefined
  const options = { whitespace: 'bounded' } as const
  if (format.type === 'json_object') {
    return { constraint: { kind: 'json_object' }, field: 'text.format', options }
  }
  return {
    constraint: { kind: 'json', schema: format.schema.exact as object },
    field: 'text.format.schema',
    options,
  }
}
