import type { Answer, TestApp } from './app.ts'
import { project } from './calls.ts'

/** An object as a client sends it. */
export function objectOf(object_id: string, val: unknown, fields: Record<string, unknown> = {}) {
  return { obj: { project_id: project, object_id, val, ...fields } }
}

/** A value with the marks of a class, as the SDKs write them. */
export function classValue(className: string, members: Record<string, unknown> = {}, bases: string[] = []) {
  return { _type: className, _class_name: className, _bases: [...bases, 'Object', 'BaseModel'], ...members }
}

export async function create({ post }: Pick<TestApp, 'post'>, name: string, val: unknown): Promise<string> {
  const answer = await post('/obj/create', objectOf(name, val))
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.digest
}

export function readObject(
  { post }: Pick<TestApp, 'post'>,
  object_id: string,
  digest = 'latest',
  fields: Record<string, unknown> = {},
): Promise<Answer> {
  return post('/obj/read', { project_id: project, object_id, digest, ...fields })
}
