import { newId, traceOf } from '../../domain/ids.ts'
import { membersOf, objectText } from '../../domain/json/scan.ts'
import { JsonText, joined } from '../../domain/json/text.ts'
import { inSteps } from '../../domain/yielding.ts'
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

export function startPart(given: StartedCall | CompleteCall, { user, retentionDays }: Intake): StartedPart {
  const id = given.id ?? newId()
  const attributes = given.otel_dump
    ? withMember(given.attributes, 'otel_span', given.otel_dump)
    : given.attributes
  const expires =
    given.expire_at ?? (retentionDays > 0 ? given.started_at + retentionDays * dayInMicroseconds : null)
  return {
    project_id: given.project_id,
    id,
    display_name: given.display_name ?? null,
    start: {
      ...givenColumns('start', given),
      // A call that names no trace is the root of its own. Sending it again yields the same trace.
      trace_id: given.trace_id ?? traceOf(id),
      op_name: given.op_name,
      started_at: given.started_at,
      user_id: user,
      expire_at: expires,
      start_bytes: attributes.bytes + given.inputs.bytes,
      attributes: attributes.stored,
      inputs: given.inputs.stored,
    },
  }
}

export function endPart(given: EndedCall | CompleteCall): EndedPart {
  return {
    project_id: given.project_id,
    id: given.id,
    display_name: given.display_name ?? null,
    end: {
      ...givenColumns('end', given),
      trace_id: given.trace_id ?? null,
      ended_at: given.ended_at,
      end_bytes: given.summary.bytes + (given.output?.bytes ?? 0),
      output: given.output?.stored ?? null,
      summary: given.summary.stored,
    },
  }
}

/**
 * One part for each call, in the order in which the calls first appear. Later parts of a batch replace earlier ones.
 */
export async function mergeParts(parts: Iterable<CallPart>): Promise<CallPart[]> {
  const byCall = new Map<string, CallPart>()
  await inSteps(parts, (part) => {
    const key = `${part.project_id}/${part.id}`
    const known = byCall.get(key)
    if (known === undefined) {
      byCall.set(key, part)
      return
    }
    if (part.start) known.start = part.start
    if (part.end) known.end = part.end
    // The name given with an end replaces that of the start, whichever arrives first.
    known.display_name = part.end
      ? (part.display_name ?? known.display_name)
      : (known.display_name ?? part.display_name)
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
