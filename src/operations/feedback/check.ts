import { membersOf } from '../../../packages/json/index.ts'
import type { SharedText } from '../../domain/json/text.ts'
import { Refusal, refuse, wrong } from '../../domain/refusals.ts'
import type { SchemaChecks } from '../../schemas/checks.ts'
import { findQueue } from '../../storage/queues/queues.ts'
import type { Reader } from '../../storage/transaction.ts'
import { createAnnotationChecks, type MayRead, type SpecGiven } from './annotation-checks.ts'
import type { FeedbackGiven } from './contract.ts'
import { type FieldName, type Kind, kindOf } from './kinds.ts'
import { isBeyondLimit, maxPayloadCharacters } from './payload-size.ts'
import {
  checkMember,
  checkNote,
  checkPair,
  checkPreference,
  checkReaction,
  namedReaction,
} from './payloads.ts'
import {
  checkCallRef,
  checkNamed,
  checkTarget,
  checkTriggerRef,
  namedRefOf,
  requireRef,
} from './references.ts'

/** Refuses feedback whose fields do not fit together; returns the payload as it is stored. */
export type Check = (feedback: FeedbackGiven, at: FieldName) => Promise<string | SharedText>

/**
 * For one request, because a batch names the same specs and queues again and again. Specs and queues may be deleted or
 * changed later: feedback for which `isTaken` is true was accepted with them before, and is not refused because of
 * them.
 */
export function createCheck(
  db: Reader,
  schemas: SchemaChecks,
  tenant: string,
  isTaken: (feedback: FeedbackGiven) => Promise<boolean> = async () => false,
  mayRead: MayRead = async () => true,
): Check {
  const annotations = createAnnotationChecks(db, schemas, tenant, mayRead)
  const queues = new Map<string, boolean>()

  /** Applies the rules in the order that clients know; the first broken rule is the one reported. */
  return async (entry, at) => {
    const kind = kindOf(entry.feedback_type)
    checkTarget(entry, at)
    if (kind === 'reaction') checkReaction(entry, at)
    if (kind === 'note') checkNote(entry, at)
    if (kind === 'preference') checkPreference(entry, at)
    checkFields(entry, kind, at)
    const { json, isTooLarge } = entry.payload
    // A value that will be refused for its size is not worth parsing.
    if (kind === 'annotation') await unlessTaken(entry, checkAnnotation(entry, at, isTooLarge))
    checkRefs(entry, at)
    if (entry.queue_id != null) await unlessTaken(entry, checkQueue(entry.project_id, entry.queue_id, at))
    if (kind === 'preference') await unlessTaken(entry, checkPair(db, entry, at))
    const payload = kind === 'reaction' ? await namedReaction(entry, at) : json.stored
    const grown = kind === 'reaction' && typeof payload === 'string' && isBeyondLimit(payload)
    if (isTooLarge || grown) throw tooLarge(at)
    return payload
  }

  async function unlessTaken(feedback: FeedbackGiven, checked: Promise<void>): Promise<void> {
    try {
      await checked
    } catch (error) {
      if (!(error instanceof Refusal) || !(await isTaken(feedback))) throw error
    }
  }

  async function checkAnnotation(feedback: FeedbackGiven, at: FieldName, isTooLarge: boolean): Promise<void> {
    const ref = namedRefOf(feedback, 'annotation_ref', at)
    const field = at('annotation_ref')
    const text = feedback.annotation_ref as string
    const { project } = ref
    if (project !== feedback.project_id) {
      throw wrong(
        field,
        JSON.stringify(text),
        `a reference to an object of ${JSON.stringify(feedback.project_id)}`,
      )
    }
    const spec: SpecGiven = { name: ref.name, digest: ref.digest, project, ref: text, field }
    const value = membersOf(feedback.payload.json.text).get('value') as string
    if (isTooLarge) await annotations.schemaOf(spec)
    else await annotations.check(spec, value, at('payload.value'))
  }

  async function checkQueue(project: string, id: string, at: FieldName): Promise<void> {
    const key = `${project} ${id}`
    const isThere = queues.get(key) ?? (await findQueue(db, project, id)) !== undefined
    queues.set(key, isThere)
    if (isThere) return
    throw wrong(
      at('queue_id'),
      JSON.stringify(id),
      `the id of an annotation queue of ${JSON.stringify(project)} that is not deleted`,
    )
  }
}

/** Which references a kind requires, and what its payload must contain. */
function checkFields(feedback: FeedbackGiven, kind: Kind, at: FieldName): void {
  if (kind === 'annotation') {
    checkNamed(feedback, 'annotation', at)
    checkMember(feedback, 'value', at)
    return
  }
  if (kind === 'runnable') {
    const ref = checkNamed(feedback, 'runnable', at)
    if (ref.kind === 'op') requireRef(feedback, 'call_ref', 'runnable_ref is an op', at)
    checkMember(feedback, 'output', at)
    return
  }
  if (kind !== 'agent monitor') return
  const why = `feedback_type is ${JSON.stringify(feedback.feedback_type)}`
  for (const field of ['runnable_ref', 'call_ref', 'trigger_ref'] as const) {
    requireRef(feedback, field, why, at)
  }
}

/** Feedback of any type may have each of them, as the specification says; Weave refuses most. */
function checkRefs(feedback: FeedbackGiven, at: FieldName): void {
  if (feedback.annotation_ref != null) namedRefOf(feedback, 'annotation_ref', at)
  if (feedback.runnable_ref != null) namedRefOf(feedback, 'runnable_ref', at)
  if (feedback.call_ref != null) checkCallRef(feedback, at)
  if (feedback.trigger_ref != null) checkTriggerRef(feedback, at)
}

function tooLarge(at: FieldName) {
  return refuse('payload_too_large', { field: at('payload'), limit: maxPayloadCharacters })
}
