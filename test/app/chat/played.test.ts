import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { playedBackend } from '../../support/played-backend.ts'

test('a played text is the answer', async (t) => {
  const backend = playedBackend(t, 'Grüße 😀, <tool')
  const { post } = await openApp(t, { backend })
  const { json } = await post(chatUrl, asking({ model: 'played' }))
  assert.equal(json.choices[0].message.content, 'Grüße 😀, <tool')
  assert.equal(json.choices[0].finish_reason, 'stop')
})

test('each choice has its own, and the length ends it', async (t) => {
  const backend = playedBackend(t, (_, choice) => 'ab'.repeat(choice + 1))
  const { post } = await openApp(t, { backend })
  const { json } = await post(chatUrl, asking({ model: 'played', n: 2, max_tokens: 3 }))
  const said = json.choices.map(({ message, finish_reason }: (typeof json.choices)[0]) => [
    message.content,
    finish_reason,
  ])
  assert.deepEqual(said, [
    ['ab', 'stop'],
    ['aba', 'length'],
  ])
})

test('what a constraint does not allow breaks the answer off, and says where', async (t) => {
  const backend = playedBackend(t, 'abd')
  const { post } = await openApp(t, { backend })
  const { status } = await post(chatUrl, asking({ model: 'played', structured_outputs: { regex: 'ab[ce]' } }))
  assert.equal(status, 500)
  assert.match(backend.failures.splice(0).join(), /^choice 0 cannot go on with "d" after "ab": only /)
})
