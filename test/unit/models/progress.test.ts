import assert from 'node:assert/strict'
import { test } from 'node:test'
import { showProgress } from '../../../src/command-line/progress.ts'

function screen(isTTY: boolean) {
  let shown = ''
  const stream = {
    isTTY,
    write: (text: string) => {
      shown += text
      return true
    },
  } as unknown as NodeJS.WriteStream
  return { progress: showProgress(stream), shown: () => shown }
}

const total = 64 * 1024 * 1024

test('a terminal shows a progress bar, drawn at most a thousand times', () => {
  const { progress, shown } = screen(true)
  progress.begin('acme/tiny:m.gguf')
  for (let step = 1; step <= 10_000; step++) progress.step((total * step) / 10_000, total)
  progress.end()
  const [first = '', bars = '', rest] = shown().split('\n')
  assert.equal(first, 'Downloading acme/tiny:m.gguf')
  assert.equal(rest, '')
  const drawn = bars.split('\r').slice(1)
  assert.ok(drawn.length <= 1001, String(drawn.length))
  assert.equal(drawn.at(-1), `${'█'.repeat(30)} 100.0 %  64 MiB of 64 MiB\x1b[K`)
  assert.equal(drawn[500], `${'█'.repeat(15)}${'░'.repeat(15)}  50.0 %  32 MiB of 64 MiB\x1b[K`)
})

test('a message during the download gets a line of its own', () => {
  const { progress, shown } = screen(true)
  progress.step(total / 2, total)
  progress.say('waiting')
  progress.end()
  assert.ok(shown().endsWith('\x1b[K\nwaiting\n'), shown())
})

test('other outputs get at most a dozen lines', () => {
  const { progress, shown } = screen(false)
  progress.begin('m')
  for (let step = 0; step <= 10_000; step++) progress.step((total * step) / 10_000, total)
  progress.end()
  assert.deepEqual(shown().trimEnd().split('\n'), [
    'Downloading m',
    ...Array.from({ length: 11 }, (_, tenth) => `m: ${10 * tenth} % of 64 MiB`),
  ])
})
