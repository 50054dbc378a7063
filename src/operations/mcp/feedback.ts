import { z } from 'zod'
import { callRef, parseRef } from '../../domain/refs.ts'
import type { FeedbackAnswer } from '../feedback/contract.ts'
import type { CallsAnswer } from '../views/contract.ts'
import { type Asking, ToolError } from './asking.ts'
import { callId, project, tool } from './tool.ts'

/** An answer to a question for reviewers. */
export const annotation = z.strictObject({
  ref: z.string().min(1).max(4_096).describe('The annotation spec'),
  value: z.unknown(),
})

/** Tells the feedback of agents from that of people. */
export const creator = 'agent'

/** The fields of an annotation, whose type is named after its spec. */
export function annotationOf({ ref, value }: z.output<typeof annotation>) {
  const spec = parseRef(ref)
  if (spec?.kind !== 'object') {
    throw new ToolError(
      `ref: given ${JSON.stringify(ref.slice(0, 200))}; accepted: a reference to an annotation spec`,
    )
  }
  return {
    feedback_type: `wandb.annotation.${spec.name}`,
    annotation_ref: ref,
    payload: { value: value ?? null },
  }
}

export const addFeedback = tool({
  name: 'add_feedback',
  title: 'Add feedback to a call',
  description: 'Add exactly one: a note, a reaction (an emoji) or an annotation.',
  input: z.strictObject({
    project,
    id: callId,
    note: z.string().min(1).max(1_024).optional(),
    reaction: z.string().min(1).max(64).optional(),
    annotation: annotation.optional(),
  }),
  output: z.object({ id: z.string(), created_at: z.string() }),
  changes: { isRepeatable: false },
  async run(asking, { project, id, note, reaction, annotation }) {
    const kinds = [
      ...(note === undefined ? [] : [{ feedback_type: 'wandb.note.1', payload: { note } }]),
      ...(reaction === undefined
        ? []
        : [{ feedback_type: 'wandb.reaction.1', payload: { emoji: reaction } }]),
      ...(annotation === undefined ? [] : [annotationOf(annotation)]),
    ]
    if (kinds.length !== 1)
      throw new ToolError(`given ${kinds.length} of note, reaction and annotation; accepted: one`)
    const created = await asking.post<z.output<typeof FeedbackAnswer>>('/feedback/create', {
      project_id: project,
      svc_ref: callRef(asking.scheme, project, await existing(asking, project, id)),
      creator,
      ...kinds[0],
    })
    return { id: created.id, created_at: created.created_at }
  },
})

/** Feedback may come before its call; an agent that names an unknown one has made it up. */
async function existing(asking: Asking, project: string, id: string): Promise<string> {
  const { calls } = await asking.post<z.output<typeof CallsAnswer>>('/views/calls', {
    project_id: project,
    filter: { call_ids: [id] },
    limit: 1,
    count_up_to: 0,
  })
  const [call] = calls
  if (call === undefined)
    throw new ToolError(
      `id: there is no call ${JSON.stringify(id.slice(0, 200))} in ${JSON.stringify(project)}`,
    )
  return call.id
}
