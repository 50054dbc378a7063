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
  bytesOfDraws: number
  couldForget: boolean
  stop: { wasComputed: boolean; refused: string; wholeTop: number[]; againTop: number[] }
  best: number
  top: { tokens: number[]; logits: number[] }
  three: number[]
  twenty: number[]
  few: number[]
  many: number[][]
  most: number[]
  total: number[]
  warm: number[]
  masked: Masked[]
  other: number
  ends: number[]
  eos: number
}

/** Results for the even tokens, for the same again, and for the last token alone. */
interface Masked {
  best: number
  top: { tokens: number[]; logits: string[] }
  three: number[]
  of: string[]
  total: number
  warm: number
}

function near(actual: number | undefined, expected: number): void {
  assert.ok(Math.abs((actual ?? Number.NaN) - expected) < 1e-4, `${actual} is not ${expected}`)
}

const isEven = (token: number) => token % 2 === 0

for (const vocabulary of [260, 3000]) {
  test(`all ways to read a position agree, with ${vocabulary} tokens`, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'heddle-engine-'))
    t.after(() => rm(folder, { recursive: true }))
    const file = join(folder, 'random.gguf')
    await writeRandomModel(file, { vocabulary })
    const { stdout } = await promisify(execFile)(process.execPath, [probe, file], {
      env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
      maxBuffer: 2 ** 24,
    })
    const probed: Probed = JSON.parse(stdout)
    const { tokens, logits } = probed.top
    assert.equal(new Set(tokens).size, vocabulary)
    assert.deepEqual(
      logits,
      logits.toSorted((one, other) => other - one),
    )
    const logitOf = (token: number) => logits[tokens.indexOf(token)] ?? Number.NaN

    assert.equal(probed.best, tokens[0])
    assert.deepEqual(probed.three, tokens.slice(0, 3))
    assert.deepEqual(probed.twenty, tokens.slice(0, 20))
    assert.deepEqual(probed.few, [7, 3, 7].map(logitOf))
    const many = Array.from({ length: 40 }, (_, i) => logitOf(vocabulary - 1 - 3 * i))
    assert.deepEqual(probed.many, [many, many])
    assert.deepEqual(
      probed.most,
      Array.from({ length: vocabulary }, (_, token) => logitOf(token)),
    )

    for (const [at, isIn] of [isEven, isEven, (token: number) => token === vocabulary - 1].entries()) {
      const masked = probed.masked[at] ?? assert.fail()
      const allowed = tokens.filter(isIn)
      assert.equal(masked.best, allowed[0])
      assert.deepEqual(masked.three.slice(0, allowed.length), allowed.slice(0, 3))
      assert.deepEqual(masked.top.tokens.slice(0, allowed.length), allowed)
      assert.deepEqual(
        masked.top.logits,
        masked.top.tokens.map((token) => String(isIn(token) ? logitOf(token) : -Infinity)),
      )
      assert.deepEqual(
        masked.of,
        [7, 3, 7].map((token) => String(isIn(token) ? logitOf(token) : -Infinity)),
      )
      const sumAt = (temperature: number) =>
        Math.log(allowed.reduce((sum, token) => sum + Math.exp(logitOf(token) / temperature), 0))
      near(masked.total, sumAt(1))
      near(masked.warm, sumAt(0.5))
    }

    const totalAt = (temperature: number) =>
      Math.log(logits.reduce((sum, logit) => sum + Math.exp((logit - (logits[0] ?? 0)) / temperature), 0)) +
      (logits[0] ?? 0) / temperature
    for (const total of probed.total) near(total, totalAt(1))
    for (const total of probed.warm) near(total, totalAt(0.5))

    assert.ok(probed.bytesOfDraws < 4 * vocabulary * 10, `${probed.bytesOfDraws} bytes for a thousand draws`)
    assert.equal(probed.couldForget, true)
    const { wasComputed, refused, wholeTop, againTop } = probed.stop
    assert.equal(wasComputed, false, 'a batch that is stopped at once is not computed')
    assert.equal(refused, 'the batch was stopped')
    assert.equal(wholeTop.length, 20)
    assert.deepEqual(againTop, wholeTop, 'the sequence is usable afterwards, with the same logits')
    assert.deepEqual(probed.ends.includes(probed.eos), true)
    assert.ok(probed.other >= 0 && probed.other < vocabulary)
  })
}
