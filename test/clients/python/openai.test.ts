import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { keys } from '../../support/app.ts'
import { newFolder } from '../../support/server.ts'
import { startChat } from '../chat/server.ts'
import { startReady } from '../loop/place.ts'

/** Python's unmodified openai package, where it is installed. */

const script = fileURLToPath(new URL('openai_suite.py', import.meta.url))
const python = spawnSync('python3', ['-c', 'import openai, pydantic'])
const skip = python.status === 0 ? false : 'there is no python3 with openai'

async function passed(suite: string, ...server: [baseURL: string, apiKey: string, model: string]) {
  const { stdout } = await promisify(execFile)('python3', [script, suite, ...server], { timeout: 240_000 })
  const checks = [...readFileSync(script, 'utf8').matchAll(/^@of\("(\w+)"\)\ndef (\w+)/gm)]
  const own = checks.flatMap(([, of, name]) => (of === suite ? [name] : []))
  assert.ok(own.length > 5)
  assert.deepEqual(stdout.trim().split('\n'), own)
}

test('chat, text, responses, stored completions, embeddings and refusals', { skip }, async (t) => {
  const { baseURL, apiKey } = await startChat(t)
  await passed('scripted', baseURL, apiKey, 'scripted')
})

test('objects, tools and constraints, with the built-in model', { skip }, async (t) => {
  const server = await startReady(t, await newFolder(t))
  await passed('builtin', `${server.address}/v1`, keys.alice, 'heddle-tiny')
})
