import { questionOf } from '../export/contents.ts'
import { type JsonNode, jsonNode, membersOf, nodeAt, stringOf } from '../value/json-index.ts'
import { request } from './request.ts'

/** Feedback on a call or a conversation. The payload keeps its digits. */
export interface FeedbackEntry {
  id: string
  type: string
  payload: JsonNode
  at: string
  /** The user whose key sent it. */
  by: string | undefined
  /** The name that the sender gave. */
  creator: string | undefined
  /** References to the scorer that made a score, and to its own call. */
  runnable: string | undefined
  call: string | undefined
}

function allOf(project: string, about: string) {
  const query = { $expr: { $eq: [{ $getField: 'weave_ref' }, { $literal: about }] } }
  return { project_id: project, query, sort_by: [{ field: 'created_at', direction: 'asc' }] }
}

/** Keeps the answer to `feedbackOf` for a call without feedback. */
export function captureNoFeedback(project: string, about: string, kept: Map<string, string>): void {
  kept.set(questionOf('/feedback/query', JSON.stringify(allOf(project, about))), '{"result":[]}')
}

/** `about` is the reference to a call or a conversation. */
export async function feedbackOf(
  project: string,
  about: string,
  signal: AbortSignal,
): Promise<FeedbackEntry[]> {
  const text = await (await request('/feedback/query', { body: allOf(project, about), signal })).text()
  const result = nodeAt(jsonNode(text), 'result')
  return result === undefined ? [] : [...membersOf(result)].map(({ node }) => entryIn(node))
}

function entryIn(node: JsonNode): FeedbackEntry {
  const text = (name: string) => stringOf(nodeAt(node, name))
  return {
    id: text('id') ?? '',
    type: text('feedback_type') ?? '',
    payload: nodeAt(node, 'payload') ?? jsonNode('{}'),
    at: text('created_at') ?? '',
    by: text('svc_user_id'),
    creator: text('creator'),
    runnable: text('runnable_ref'),
    call: text('call_ref'),
  }
}

type NewFeedback = { kind: 'reaction'; emoji: string } | { kind: 'note'; note: string }

export async function addFeedback(project: string, about: string, given: NewFeedback): Promise<void> {
  const isReaction = given.kind === 'reaction'
  await request('/feedback/create', {
    body: {
      project_id: project,
      weave_ref: about,
      feedback_type: isReaction ? 'wandb.reaction.1' : 'wandb.note.1',
      payload: isReaction ? { emoji: given.emoji } : { note: given.note },
    },
  })
}

export async function removeFeedback(project: string, id: string): Promise<void> {
  const query = { $expr: { $eq: [{ $getField: 'id' }, { $literal: id }] } }
  await request('/feedback/purge', { body: { project_id: project, query } })
}
