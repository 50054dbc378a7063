import { shortened } from '../../domain/described.ts'
import { parseRef, type Ref } from '../../domain/refs.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { FeedbackGiven } from './contract.ts'
import { type FieldName, type Kind, kindOf, prefixes } from './kinds.ts'

type RefField = 'annotation_ref' | 'runnable_ref' | 'call_ref' | 'trigger_ref'

type ObjectRef = Extract<Ref, { kind: 'object' | 'op' }>

const objectForm = '<scheme>:///<entity>/<project>/object/<name>:<digest>'
const opForm = '<scheme>:///<entity>/<project>/op/<name>:<digest>'
const callForm = '<scheme>:///<entity>/<project>/call/<id>'

/** Feedback may be about anything, but what looks like a reference must be a complete one. */
export function checkTarget({ svc_ref, weave_ref }: FeedbackGiven, at: FieldName): void {
  const start = /^[a-z][a-z0-9+.-]*:\/\/\//.exec(svc_ref)
  if (start === null) return
  const [entity, project, ...tail] = svc_ref.slice(start[0].length).split('/')
  if (entity && project && tail.some((segment) => segment !== '')) return
  throw wrong(
    at(weave_ref ? 'weave_ref' : 'svc_ref'),
    svc_ref,
    '<scheme>:///<entity>/<project>/<kind>/…, or a string that is not a reference',
  )
}

/** The call or the conversation that the feedback is about, of its own project: other projects are never touched. */
export function subjectOf({ svc_ref, project_id }: Pick<FeedbackGiven, 'svc_ref' | 'project_id'>): {
  call_id: string | null
  thread_id: string | null
} {
  const ref = parseRef(svc_ref)
  const idOf = (kind: 'call' | 'thread') => (ref?.kind === kind && ref.project === project_id ? ref.id : null)
  return { call_id: idOf('call'), thread_id: idOf('thread') }
}

/**
 * Checks that the type is the prefix and a name, and that the reference exists, is of the right kind and has the same
 * name.
 */
export function checkNamed(entry: FeedbackGiven, kind: 'annotation' | 'runnable', at: FieldName): ObjectRef {
  const prefix = `${prefixes[kind]}.`
  const name = entry.feedback_type.slice(prefix.length)
  if (!entry.feedback_type.startsWith(prefix) || name === '') {
    throw refuse('invalid_value', {
      field: at('feedback_type'),
      received: JSON.stringify(entry.feedback_type),
      accepted: `${prefix}<name>`,
    })
  }
  const field = `${kind}_ref` as const
  const ref = namedRefOf(entry, field, at)
  if (ref.name === name) return ref
  const accepted = `a reference to the name ${JSON.stringify(name)}, which feedback_type has`
  throw wrong(at(field), entry[field], accepted)
}

/** An annotation spec is an object; what was run is an object or an op. */
export function namedRefOf(
  feedback: FeedbackGiven,
  field: 'annotation_ref' | 'runnable_ref',
  at: FieldName,
): ObjectRef {
  const ref = parseRef(feedback[field] ?? '')
  if (ref?.kind === 'object' || (ref?.kind === 'op' && field === 'runnable_ref')) return ref
  const form =
    field === 'runnable_ref'
      ? `a reference to an object or an op, ${objectForm} or ${opForm}`
      : `an object reference, ${objectForm}`
  const why = requiring[field].includes(kindOf(feedback.feedback_type))
    ? `, because feedback_type is ${JSON.stringify(feedback.feedback_type)}`
    : ''
  throw wrong(at(field), feedback[field], form + why)
}

const requiring: Record<'annotation_ref' | 'runnable_ref', Kind[]> = {
  annotation_ref: ['annotation'],
  runnable_ref: ['runnable', 'agent monitor'],
}

export function checkCallRef(feedback: FeedbackGiven, at: FieldName): void {
  if (parseRef(feedback.call_ref ?? '')?.kind === 'call') return
  throw wrong(at('call_ref'), feedback.call_ref, `a call reference, ${callForm}`)
}

export function checkTriggerRef(feedback: FeedbackGiven, at: FieldName): void {
  if (parseRef(feedback.trigger_ref ?? '')?.kind === 'object') return
  throw wrong(at('trigger_ref'), feedback.trigger_ref, `an object reference, ${objectForm}`)
}

export function requireRef(feedback: FeedbackGiven, field: RefField, why: string, at: FieldName): void {
  if (feedback[field] == null) throw wrong(at(field), null, `a reference, because ${why}`)
}

export function wrong(field: string, value: string | null | undefined, accepted: string): Refusal {
  return refuse('invalid_value', { field, received: shortened(JSON.stringify(value ?? null), 120), accepted })
}
