import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { choiceOf, eventsOf } from '../../support/chat.ts'
import { startChat } from './server.ts'

const run = promisify(execFile)

/** curl as a user would type it. */
async function curl(...args: string[]) {
  const { stdout } = await run('curl', ['--silent', '--show-error', '--max-time', '60', ...args])
  return stdout
}

const body = (fields: object = {}) =>
  JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], ...fields })

test('both addresses answer directly, streamed or not', async (t) => {
  const { baseURL, apiKey } = await startChat(t)
  const headers = ['-H', 'content-type: application/json', '-H', `authorization: Bearer ${apiKey}`]
  for (const path of ['/chat/completions', '/chat/completions/']) {
    const whole = JSON.parse(await curl(...headers, '-d', body(), baseURL + path))
    assert.equal(whole.choices[0].message.content, 'Hello')
    const streamed = await curl('-N', ...headers, '-d', body({ stream: true }), baseURL + path)
    assert.equal(choiceOf(eventsOf(streamed).chunks, 0).content, 'Hello')
  }
})

test('Basic authentication works as well', async (t) => {
  const { baseURL, apiKey } = await startChat(t)
  const text = await curl(
    '-u',
    `api:${apiKey}`,
    '-H',
    'content-type: application/json',
    '-d',
    body(),
    `${baseURL}/chat/completions`,
  )
  assert.equal(JSON.parse(text).object, 'chat.completion')
})

test('without a key, or with another content type, the answer says what is missing', async (t) => {
  const { baseURL, apiKey } = await startChat(t)
  const status = ['-o', '/dev/null', '-w', '%{http_code} %header{www-authenticate}']
  const url = `${baseURL}/chat/completions`
  assert.match(await curl(...status, '-H', 'content-type: application/json', '-d', body(), url), /^401 Basic/)
  assert.match(await curl(...status, '-H', `authorization: Bearer ${apiKey}`, '-d', body(), url), /^415 /)
})
