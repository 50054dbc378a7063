import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { keys } from '../../support/app.ts'
import { newFolder, startServer } from '../../support/server.ts'

/** The requests of W&B's Python client, as it sends them. */

const script = fileURLToPath(new URL('weave_suite.py', import.meta.url))
const skip = spawnSync('python3', ['-V']).status === 0 ? false : 'there is no python3'

test('calls, columns, costs, references, files and queues, without a content type', { skip }, async (t) => {
  const server = await startServer(t, { HEDDLE_DATA: await newFolder(t) })
  const { stdout } = await promisify(execFile)('python3', [script, server.address, keys.alice])
  const checks = [...readFileSync(script, 'utf8').matchAll(/^@check\ndef (\w+)/gm)].map(([, name]) => name)
  assert.ok(checks.length > 5)
  assert.deepEqual(stdout.trim().split('\n'), checks)
})
