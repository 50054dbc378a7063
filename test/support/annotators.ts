import assert from 'node:assert/strict'
import { keys, type TestApp } from './app.ts'

const people = ['anna', 'ben', 'eva', 'kim', 'otto'] as const
export type Person = (typeof people)[number] | 'alice'

/** Makes the people annotators of the project, and returns how their keys are read. Alice is an editor. */
export async function createAnnotators({ post }: Pick<TestApp, 'post'>, project_id: string) {
  const personal = new Map<Person, string>([['alice', keys.alice]])
  for (const name of people) {
    const made = await post('/users', { name, grants: [{ scope: project_id, role: 'annotator' }] }, keys.root)
    assert.equal(made.status, 200, made.text)
    personal.set(name, made.json.key.key)
  }
  return (person: Person) => personal.get(person) as string
}
