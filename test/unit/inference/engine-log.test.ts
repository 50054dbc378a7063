import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { logLines } from '../../../src/inference/embedded/owner/engine-log.ts'

async function logged(...pieces: string[]) {
  const lines: unknown[] = []
  const none = () => {}
  const stream = new PassThrough()
  const lastLine = logLines(stream, {
    debug: none,
    info: none,
    error: none,
    warn: (line: unknown) => lines.push(line),
  })
  for (const piece of pieces) stream.write(piece)
  stream.end()
  await new Promise((resolve) => stream.once('end', resolve))
  return { lines, last: lastLine() }
}

test('what the engine prints is logged line by line, wherever it was cut', async () => {
  assert.deepEqual(await logged('one\ntw', 'o\n\n \nthr', 'ee\nfour'), {
    lines: [{ engine: 'one' }, { engine: 'two' }, { engine: 'three' }],
    last: 'three',
  })
})

test('lines without an end and floods of lines take no more than a log can bear', async () => {
  const endless = Array.from({ length: 2000 }, () => 'x'.repeat(1000))
  const { lines } = await logged(...endless, '\n', 'line\n'.repeat(5000))
  assert.equal(lines.length, 200)
  assert.ok(lines.every((line) => JSON.stringify(line).length < 2000))
})
