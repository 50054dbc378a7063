// Starts the server as a user does, asks one question, reads its call back, and stops. The hosted workflow runs it on
// systems that the tests do not run on.
//
//   node scripts/try-start.mjs

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const windows = process.platform === 'win32'
const key = 'a-key-for-one-try-of-the-start'
const data = mkdtempSync(join(tmpdir(), 'heddle try ü '))

const server = spawn('npm', ['start'], {
  cwd: fileURLToPath(new URL('..', import.meta.url)),
  env: { ...process.env, HEDDLE_DATA: data, HEDDLE_PORT: '0', HEDDLE_USERS: `try:${key}` },
  // On Windows npm is a script. Elsewhere a group of its own gets the signal that Ctrl+C would send.
  shell: windows,
  detached: !windows,
  stdio: ['ignore', 'inherit', 'pipe'],
})
const exited = once(server, 'exit')

/** The address in the line that says that the server is ready. */
async function ready() {
  for await (const line of createInterface({ input: server.stderr })) {
    console.error(line)
    const address = /^Heddle is ready: (http:\/\/[^/]+)/.exec(line)?.[1]
    if (address) return address
    if (line.startsWith('Heddle is up: ')) throw new Error('the model is not ready')
  }
  throw new Error('npm start ended')
}

async function ask(address, path, body) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(`${address}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`)
  return { id: answer.headers.get('x-heddle-call-id'), body: await answer.json() }
}

async function stop() {
  if (windows) spawnSync('taskkill', ['/pid', String(server.pid), '/t', '/f'])
  else process.kill(-server.pid, 'SIGINT')
  await exited
}

try {
  const address = await ready()
  const messages = [{ role: 'user', content: 'What is the capital of Mali?' }]
  const answer = await ask(address, '/v1/chat/completions', { messages, temperature: 0 })
  const { content } = answer.body.choices[0].message
  const { body } = await ask(address, '/call/read', { project_id: 'main/default', id: answer.id })
  const recorded = body.call?.output?.choices?.[0]?.message?.content
  if (!content || recorded !== content) throw new Error(`${content} was recorded as ${recorded}`)
  console.log(`It answered and recorded: ${content}`)
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await stop()
  rmSync(data, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
}
