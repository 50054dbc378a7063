import { execFileSync } from 'node:child_process'
import { closeSync, open, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { createMasks, type TokenMask } from '../../../packages/constraints/index.ts'
import { loadInProcess } from '../../../packages/engine/index.ts'

const { loadModel } = await loadInProcess()

/** Prints what the native interface returns about one position of a model; it requires a process of its own. */
const model = await loadModel(process.argv[2] ?? '', () => {})
const context = await model.openContext({ context: 256, sequences: 2, batch: 256, threads: 2 })
context.begin(4)
context.add(0, 0, Uint32Array.of(1, 2, 3, 4), Uint32Array.of())
await context.decode()
await context.copy(0, 1)
const couldForget = context.forget(1, 3)
context.begin(2)
const [place = Number.NaN] = context.add(0, 4, Uint32Array.of(5), Uint32Array.of(0))
const [other = Number.NaN] = context.add(1, 3, Uint32Array.of(5), Uint32Array.of(0))
await context.decode()

const logits = context.logits(place)
const { vocabulary } = model
const few = [7, 3, 7]
const many = Array.from({ length: 40 }, (_, i) => vocabulary.size - 1 - 3 * i)
const most = Array.from({ length: vocabulary.size }, (_, i) => i)
const total = await context.logits(place).logTotal(1)
const warm = await context.logits(place).logTotal(0.5)
const all = await logits.top(vocabulary.size + 10)
const masks = createMasks(vocabulary.size)
const even = masks.of((put) => most.filter((token) => token % 2 === 0).forEach(put))
const none = masks.of((put) => put(vocabulary.size - 1))
async function masked(mask: TokenMask) {
  const position = context.logits(place).masked(mask)
  const all = await position.top(vocabulary.size)
  return {
    best: await position.best(),
    top: { tokens: Array.from(all.tokens), logits: Array.from(all.logits, String) },
    three: Array.from((await position.top(3)).tokens),
    of: Array.from(await position.of(few), String),
    total: await context.logits(place).masked(mask).logTotal(1),
    warm: await position.logTotal(0.5),
  }
}
const read = {
  couldForget,
  best: await logits.best(),
  top: { tokens: Array.from(all.tokens), logits: Array.from(all.logits) },
  three: Array.from((await logits.top(3)).tokens),
  twenty: Array.from((await logits.top(20)).tokens),
  few: Array.from(await logits.of(few)),
  many: [Array.from(await logits.of(many)), Array.from(await logits.of(many))],
  most: Array.from(await logits.of(most)),
  total: [total, await logits.logTotal(1)],
  warm: [warm, await logits.logTotal(0.5)],
  masked: await Promise.all([masked(even), masked(even), masked(none)]),
  other: await context.logits(other).best(),
  ends: vocabulary.ends,
  eos: vocabulary.eos,
}

/** What V8 counts as its own after a thousand draws from a row of the native library's memory. */
const bytesBefore = process.memoryUsage().external
for (let draws = 0; draws < 1000; draws++) await context.logits(place).best()
const bytesOfDraws = process.memoryUsage().external - bytesBefore

/** The likeliest tokens after a long prompt, and their logits. */
async function afterLong() {
  context.forget(1, 0)
  context.begin(long.length)
  const [row = Number.NaN] = context.add(1, 0, long, Uint32Array.of(long.length - 1))
  const decoding = context.decode()
  return { decoding, top: async () => Array.from((await context.logits(row).top(20)).logits) }
}
const long = Uint32Array.from({ length: 200 }, (_, i) => (7 * i) % 250)
const whole = await afterLong()
const wholeTop = (await whole.decoding) ? await whole.top() : []
// The only thread of the pool waits for a writer, so the batch cannot end before it is stopped.
const pipe = `${process.argv[2]}.pipe`
execFileSync('mkfifo', [pipe])
const reader = promisify(open)(pipe, 'r')
const stopped = await afterLong()
context.stop()
const writer = openSync(pipe, 'w')
const wasComputed = await stopped.decoding
for (const end of [await reader, writer]) closeSync(end)
const refused = await stopped.top().then(
  () => '',
  (error: Error) => error.message,
)
const again = await afterLong()
const againTop = (await again.decoding) ? await again.top() : []

process.stdout.write(
  JSON.stringify({ ...read, bytesOfDraws, stop: { wasComputed, refused, wholeTop, againTop } }),
)
await context.close()
