import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { users } from '../support/app.ts'
import { startOf } from '../support/calls.ts'
import { rawPost } from '../support/raw-client.ts'
import { newFolder } from '../support/server.ts'
import { withTimeout } from '../support/wait.ts'

/** `npm start` as a user types it, but without the installation before it. */
async function npmStart(t: TestContext) {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|HEDDLE_|NODE_TEST|PORT$|HOST$)/i.test(name),
  )
  const npm = spawn('npm', ['start', '--ignore-scripts', '--silent'], {
    cwd: new URL('../..', import.meta.url),
    env: {
      ...Object.fromEntries(own),
      HEDDLE_DATA: await newFolder(t),
      HEDDLE_MODEL: 'none',
      HEDDLE_PORT: '0',
      HEDDLE_USERS: users,
      HEDDLE_GRACE: '1000',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that what is left of it can be ended.
    detached: true,
  })
  t.after(() => {
    try {
      process.kill(-(npm.pid as number), 'SIGKILL')
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH')
    }
  })
  const log: string[] = []
  const errors: string[] = []
  createInterface({ input: npm.stderr }).on('line', (line) => errors.push(line))
  const listening = Promise.withResolvers<string>()
  createInterface({ input: npm.stdout }).on('line', (line) => {
    const { msg, address } = JSON.parse(line) as { msg: string; address: string }
    log.push(msg)
    if (msg === 'listening') listening.resolve(address)
  })
  // The pipes are closed when npm, its shell and the server have ended.
  const ended = once(npm, 'close').then(() => listening.reject(new Error(errors.join('\n'))))
  return { npm, log, errors, ended, address: await listening.promise }
}

test('a signal to npm alone stops the server of npm start in good order', async (t) => {
  const { npm, log, errors, ended, address } = await npmStart(t)
  npm.kill('SIGTERM')
  await withTimeout('npm, its shell and the server end', ended)
  assert.equal(log.at(-1), 'stopped')
  assert.deepEqual(errors, [`Heddle is ready: ${address}/ui/`])
})

test('a signal to npm, its shell and the server counts as one', async (t) => {
  const { npm, log, errors, ended, address } = await npmStart(t)
  // Its rest never comes, so the server waits for longer than it takes to notice that the shell is gone.
  const request = await rawPost(address, '/call/start', { start: startOf() }, { heldBack: 5 })
  t.after(() => request.socket.destroy())
  process.kill(-(npm.pid as number), 'SIGTERM')
  await withTimeout('npm, its shell and the server end', ended)
  // That the client left may be noticed after that.
  assert.ok(log.includes('stopped'), log.join('\n'))
  assert.deepEqual(errors, [`Heddle is ready: ${address}/ui/`])
})
