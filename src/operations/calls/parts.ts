import { membersOf, objectText } from '../../../packages/json/index.ts'
import { inSteps } from '../../../packages/waiting/index.ts'
import { newId, traceOf } from '../../domain/ids.ts'
import { JsonText, joined } from '../../domain/json/text.ts'
import { givenColumns } from '../../storage/calls/columns.ts'
import type { CallPart } from '../../storage/calls/parts.ts'
import type { CompleteCall, EndedCall, StartedCall } from './contract.ts'

export type StartedPart = CallPart & Required<Pick<CallPart, 'start'>>
export type EndedPart = CallPart & Required<Pick<CallPart, 'end'>>

const dayInMicroseconds = 86_400_000_000

interface Intake {
  user: string
  /** Days after its start when a call without a time of its own expires; 0 means never. */
  retentionDays: number
}

export function startPart(call: StartedCall | CompleteCall, { user, retentionDays }: Intake): StartedPart {
  const id = call.id ?? newId()
  const attributes = call.otel_dump
    ? withMember(call.attributes, 'otel_span', call.otel_dump)
    : call.attributes
  const expires =
    call.expire_at ?? (retentionDays > 0 ? call.started_at + retentionDays * dayInMicroseconds : null)
  return {
    project_id: call.project_id,
    id,
    display_name: call.display_name ?? null,
    start: {
      ...givenColumns('start', call),
      // A call that names no trace is the root of its own. Sending it again yields the same trace.
      trace_id: call.trace_id ?? traceOf(id),
      op_name: call.op_name,
      started_at: call.started_at,
      user_id: user,
      expire_at: expires,
      start_bytes: attributes.bytes + call.inputs.bytes,
      attributes: attributes.stored,
      inputs: call.inputs.stored,
    },
  }
}

export function endPart(call: EndedCall | CompleteCall): EndedPart {
  return {
    project_id: call.project_id,
    id: call.id,
    display_name: call.display_name ?? null,
    end: {
      ...givenColumns('end', call),
      trace_id: call.trace_id ?? null,
      ended_at: call.ended_at,
      end_bytes: call.summary.bytes + (call.output?.bytes ?? 0),
      output: call.output?.stored ?? null,
      summary: call.summary.stored,
    },
  }
}

/**
 * One part for each call, in the order in which the calls first appear. Later parts of a batch replace earlier ones.
 */
export async function mergeParts(callParts: Iterable<CallPart>): Promise<CallPart[]> {
  const byCall = new Map<string, CallPart>()
  await inSteps(callParts, (callPart) => {
    const key = `${callPart.project_id}/${callPart.id}`
    const known = byCall.get(key)
    if (known === undefined) {
      byCall.set(key, callPart)
      return
    }
    if (callPart.start) known.start = callPart.start
    if (callPart.end) known.end = callPart.end
    // The name given with an end replaces that of the start, whichever arrives first.
    known.display_name = callPart.end
      ? (callPart.display_name ?? known.display_name)
      : (known.display_name ?? callPart.display_name)
  })
  return [...byCall.values()]
}

function withMember(object: JsonText, name: string, member: JsonText): JsonText {
  const members = membersOf(object.text)
  if (members.has(name)) return new JsonText(objectText(members.set(name, member.text)))
  const begin = object.text.slice(0, -1)
  const key = `${begin === '{' ? '' : ','}${JSON.stringify(name)}:`
  return new JsonText(joined([begin, key, member.stored, '}']))
}
