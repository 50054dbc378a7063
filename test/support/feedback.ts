import assert from 'node:assert/strict'
import type { TestApp } from './app.ts'
import { keys } from './app.ts'
import { project } from './calls.ts'

export const aboutCall = 'weave:///acme/qa/call/0123456789abcdef'

/** A feedback of a kind of our own; a test overrides what matters to it. */
export function feedbackOf(fields: Record<string, unknown> = {}) {
  return {
    project_id: project,
    svc_ref: aboutCall,
    feedback_type: 'thumbs',
    payload: { up: true },
    ...fields,
  }
}

/** Stores a feedback and returns its id. */
export async function giveFeedback(
  post: TestApp['post'],
  fields: Record<string, unknown> = {},
  key: string = keys.alice,
): Promise<string> {
  const { status, json, text } = await post('/feedback/create', feedbackOf(fields), key)
  assert.equal(status, 200, text)
  return json.id
}

/** Every feedback of the project, in the order of creation. */
export async function allFeedback(
  post: TestApp['post'],
  project_id = project,
  key: string = keys.alice,
): Promise<Record<string, unknown>[]> {
  const { status, json, text } = await post('/feedback/query', { project_id }, key)
  assert.equal(status, 200, text)
  return json.result
}

/** Stores an object and returns the reference to it. */
export async function createObject(
  post: TestApp['post'],
  object_id: string,
  val: unknown,
  { builtin_object_class, project_id = project }: { builtin_object_class?: string; project_id?: string } = {},
): Promise<string> {
  const body = { obj: { project_id, object_id, val, builtin_object_class } }
  const { status, json, text } = await post('/obj/create', body)
  assert.equal(status, 200, text)
  return `weave:///${project_id}/object/${object_id}:${json.digest}`
}

/** An annotation spec with this field schema, and the reference to it. */
export function createSpec(
  post: TestApp['post'],
  name: string,
  field_schema: unknown,
  project_id = project,
): Promise<string> {
  const val = { name, description: null, field_schema }
  return createObject(post, name, val, { builtin_object_class: 'AnnotationSpec', project_id })
}
