import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadInProcess } from '../../packages/engine/index.ts'
import { promptGroupOf } from '../../src/operations/generation/prompt-group.ts'

const { promptKeyOf } = await loadInProcess()

test('different tenants, groups, adapters and salts have different keys', () => {
  const keys = [
    {},
    { salt: 'a' },
    { adapter: 'a' },
    { adapter: 'a', salt: 'a' },
    { salt: '["a"]' },
    { salt: '["a",null]' },
    { adapter: 'a', salt: 'null' },
    { tenant: 'a' },
    { tenant: 'a', salt: 'a' },
    { tenant: 'a', adapter: 'a' },
    { tenant: 'a', promptGroup: '["a"]' },
    { tenant: '["a"]', salt: 'b' },
  ].map(promptKeyOf)
  assert.equal(new Set(keys).size, keys.length)
})

test('a group replaces the tenant', () => {
  const ofGroup = (tenant: string) => promptKeyOf({ tenant, promptGroup: '["acme"]' })
  assert.equal(ofGroup('alice'), ofGroup('anne'))
})

/** The key of a prompt of a user with these entities. */
const keyOf = (tenant: string, entities: string[], sharing: 'user' | 'entity' | 'all') => {
  const promptGroup = promptGroupOf({ entities: new Set(entities) }, sharing)
  return promptKeyOf({ tenant, ...(promptGroup !== undefined && { promptGroup }) })
}

test('by user nobody shares, by entity users with exactly the same entities, and otherwise everybody', () => {
  const users: [name: string, ...entities: string[]][] = [
    ['alice', 'acme'],
    ['anne', 'acme'],
    ['bob', 'globex'],
    ['carol', 'acme', 'globex'],
    ['chris', 'globex', 'acme'],
    ['root', '*'],
    ['a judge'],
    ['another judge'],
  ]
  const groups = (sharing: 'user' | 'entity' | 'all') => {
    const found = new Map<string, string[]>()
    for (const [name, ...entities] of users) {
      const key = keyOf(name, entities, sharing)
      found.set(key, [...(found.get(key) ?? []), name])
    }
    return [...found.values()]
  }
  assert.deepEqual(
    groups('user'),
    users.map(([name]) => [name]),
  )
  assert.deepEqual(groups('entity'), [
    ['alice', 'anne'],
    ['bob'],
    ['carol', 'chris'],
    ['root'],
    ['a judge'],
    ['another judge'],
  ])
  assert.deepEqual(groups('all'), [users.map(([name]) => name)])
})
