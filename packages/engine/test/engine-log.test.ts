import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { isExpected } from '../native/build.ts'
import { logLines } from '../owner/engine-log.ts'

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

test('the output of the engine is logged line by line, however it is split', async () => {
  assert.deepEqual(await logged('one\ntw', 'o\n\n \nthr', 'ee\nfour'), {
    lines: [{ engine: 'one' }, { engine: 'two' }, { engine: 'three' }],
    last: 'three',
  })
})

test('endless lines and floods of lines are cut', async () => {
  const endless = Array.from({ length: 2000 }, () => 'x'.repeat(1000))
  const { lines } = await logged(...endless, '\n', 'line\n'.repeat(5000))
  assert.equal(lines.length, 200)
  assert.ok(lines.every((line) => JSON.stringify(line).length < 2000))
})

test('a batch that is stopped for clients that have left is no warning, but one that fails is', () => {
  for (const line of [
    'graph_compute: ggml_backend_sched_graph_compute_async failed with error 1',
    'process_ubatch: failed to compute graph, compute status: 1',
    'decode: removing memory module entries for seq_id = 3, pos = [300, +inf)',
    'llama_decode: failed to decode, ret = 2',
  ])
    assert.equal(isExpected(line), true, line)
  for (const line of [
    'graph_compute: ggml_backend_sched_graph_compute_async failed with error -1',
    'process_ubatch: failed to compute graph, compute status: -2',
    'llama_decode: failed to decode, ret = -3',
  ])
    assert.equal(isExpected(line), false, line)
})
