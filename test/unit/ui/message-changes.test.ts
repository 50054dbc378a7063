import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explanationIn } from '../../../ui/screens/compare/values.ts'
import { jsonNode } from '../../../ui/value/json-index.ts'
import { messageChanges } from '../../../ui/value/message-changes.ts'

const node = (value: unknown) => jsonNode(JSON.stringify(value))
const changes = (before: unknown, after: unknown) => messageChanges(node(before), node(after))
const said = (role: string, content: string, more: object = {}) => ({ role, content, ...more })

test('the changes of a conversation are messages that stay, change, appear and disappear', () => {
  const before = [said('system', 'Be brief.'), said('user', 'Why?'), said('assistant', 'So.')]
  const after = [said('system', 'Be brief.'), said('user', 'Why not?'), said('assistant', 'So.')]
  assert.deepEqual(changes(before, after), [
    { kind: 'same', role: 'system', text: 'Be brief.' },
    { kind: 'changed', role: 'user', before: 'Why?', after: 'Why not?' },
    { kind: 'same', role: 'assistant', text: 'So.' },
  ])
  assert.deepEqual(changes(before, before.slice(0, 2)), [
    { kind: 'same', role: 'system', text: 'Be brief.' },
    { kind: 'same', role: 'user', text: 'Why?' },
    { kind: 'removed', role: 'assistant', text: 'So.' },
  ])
  assert.deepEqual(changes([said('system', 'A')], [said('user', 'A')]), [
    { kind: 'removed', role: 'system', text: 'A' },
    { kind: 'added', role: 'user', text: 'A' },
  ])
  assert.deepEqual(changes([said('user', 'Hi'), said('user', 'Hi')], [said('user', 'Hi')]), [
    { kind: 'same', role: 'user', text: 'Hi' },
    { kind: 'removed', role: 'user', text: 'Hi' },
  ])
})

test('a message that changed only outside of its text is shown as recorded', () => {
  const [change] = changes([said('user', 'Hi')], [said('user', 'Hi', { name: 'ann' })]) ?? []
  assert.deepEqual(change, {
    kind: 'changed',
    role: 'user',
    before: '{"role":"user","content":"Hi"}',
    after: '{"role":"user","content":"Hi","name":"ann"}',
  })
})

test('lists of other values are not conversations', () => {
  assert.equal(changes([1], [2]), undefined)
  assert.equal(changes('a', [said('user', 'b')]), undefined)
  assert.equal(messageChanges(undefined, node([said('user', 'b')])), undefined)
})

test('the text of an answer is that of its messages; other values have none', () => {
  const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }
  const choice = (message: object) => ({ index: 0, message: { role: 'assistant', ...message } })
  assert.equal(explanationIn(node({ choices: [choice({ content: 'Yes.' })] })), 'Yes.')
  assert.equal(
    explanationIn(node({ choices: [choice({ content: null, tool_calls: [call] })] })),
    '[calls] look({"at":1})',
  )
  assert.equal(explanationIn(node('Yes.')), 'Yes.')
  for (const other of [{ choices: [] }, { answer: 'Yes.' }, 1, [1]])
    assert.equal(explanationIn(node(other)), undefined)
})
