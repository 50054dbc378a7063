import { refuse } from '../../domain/refusals.ts'
import type { AnswerRequest } from '../model.ts'
import { type KindOfUpstream, someFields } from './kinds.ts'

type Given = Readonly<Record<string, unknown>>

/** Fields that every server accepts under the same name, and that are passed on unchanged. */
const everywhere = ['temperature', 'top_p', 'stop', 'response_format', 'reasoning_effort']

export function refuseUnsupported(...[field, shown, accepted]: Parameters<typeof unsupported>): never {
  throw unsupported(field, shown, accepted)
}

export const unsupported = (field: string, shown: string, accepted: string) =>
  refuse('upstream_lacks', { field, received: shown, accepted })

const deciding = 'decisions: it has neither the route nor log-probabilities'
export const lacksDecisions = () => unsupported('model', deciding, 'a model of another server')

/** Refuses fields that the server does not accept, by name. */
export function refuseUnknown({ body = {} }: AnswerRequest, kind: KindOfUpstream, isText: boolean): void {
  for (const [name, { asksNothing }] of Object.entries(someFields)) {
    const value = body[name]
    if (value != null && !kind.takes.has(name) && !asksNothing(value, isText))
      refuseUnsupported(name, 'it', 'nothing: leave it out')
  }
}

/** The fields that are passed on unchanged. Fields that the server does not accept are refused by name. */
export function forwardedFields(request: AnswerRequest, kind: KindOfUpstream, isText: boolean): Given {
  refuseUnknown(request, kind, isText)
  const { body = {} } = request
  const passed: Record<string, unknown> = {}
  for (const name of everywhere) if (body[name] != null) passed[name] = body[name]
  for (const [name, { isWritten }] of Object.entries(someFields)) {
    if (body[name] != null && kind.takes.has(name) && !isWritten)
      passed[kind.names[name] ?? name] = body[name]
  }
  return passed
}
