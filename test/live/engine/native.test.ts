import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { writeRandomModel } from '../../support/random-model.ts'

const probe = fileURLToPath(new URL('./native-probe.ts', import.meta.url))

interface Probed {
  bytesOfReads: number
  couldForget: boolean
  stop: { wasComputed: boolean; refused: string; wholeRow: number[]; againRow: number[] }
  logits: number[]
  other: number[]
  ends: number[]
  eos: number
}

for (const vocabulary of [260, 3000]) {
  test(`logits are read where they are, with ${vocabulary} tokens`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'heddle-engine-'))
    t.after(() => rm(folder, { recursive: true }))
    const file = join(folder, 'random.gguf')
    await writeRandomModel(file, { vocabulary })
    const { stdout } = await promisify(execFile)(process.execPath, [probe, file], {
      env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
      maxBuffer: 2 ** 24,
    })
    const probed: Probed = JSON.parse(stdout)
    for (const row of [probed.logits, probed.other]) {
      assert.equal(row.length, vocabulary)
      assert.ok(row.every(Number.isFinite))
    }
    assert.notDeepEqual(probed.other, probed.logits)
    assert.ok(probed.bytesOfReads < 4 * vocabulary * 10, `${probed.bytesOfReads} bytes for a thousand reads`)
    assert.equal(probed.couldForget, true)
    const { wasComputed, refused, wholeRow, againRow } = probed.stop
    assert.equal(wasComputed, false, 'a batch that is stopped at once is not computed')
    assert.equal(refused, 'the batch was stopped')
    assert.equal(wholeRow.length, vocabulary)
    assert.deepEqual(againRow, wholeRow, 'the sequence is usable afterwards, with the same logits')
    assert.deepEqual(probed.ends.includes(probed.eos), true)
  })
}
