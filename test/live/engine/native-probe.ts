import { execFileSync } from 'node:child_process'
import { closeSync, open, openSync } from 'node:fs'
import { promisify } from 'node:util'
import { loadInProcess } from '../../../packages/engine/index.ts'

const { loadModel } = await loadInProcess()

/** Prints what the native interface returns about positions of a model; it requires a process of its own. */
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

const { vocabulary } = model
const rowOf = async (row: number) => Array.from(await context.logits(row)())
const read = {
  couldForget,
  logits: await rowOf(place),
  other: await rowOf(other),
  ends: vocabulary.ends,
  eos: vocabulary.eos,
}

/** What V8 counts as its own after a row of the native library's memory was read a thousand times. */
const bytesBefore = process.memoryUsage().external
for (let reads = 0; reads < 1000; reads++) await context.logits(place)()
const bytesOfReads = process.memoryUsage().external - bytesBefore

/** The logits after a long prompt. */
async function afterLong() {
  context.forget(1, 0)
  context.begin(long.length)
  const [row = Number.NaN] = context.add(1, 0, long, Uint32Array.of(long.length - 1))
  const decoding = context.decode()
  return { decoding, read: () => rowOf(row) }
}
const long = Uint32Array.from({ length: 200 }, (_, i) => (7 * i) % 250)
const whole = await afterLong()
const wholeRow = (await whole.decoding) ? await whole.read() : []
// The only thread of the pool waits for a writer, so the batch cannot end before it is stopped.
const pipe = `${process.argv[2]}.pipe`
execFileSync('mkfifo', [pipe])
const reader = promisify(open)(pipe, 'r')
const stopped = await afterLong()
context.stop()
const writer = openSync(pipe, 'w')
const wasComputed = await stopped.decoding
for (const end of [await reader, writer]) closeSync(end)
const refused = await stopped.read().then(
  () => '',
  (error: Error) => error.message,
)
const again = await afterLong()
const againRow = (await again.decoding) ? await again.read() : []

process.stdout.write(
  JSON.stringify({ ...read, bytesOfReads, stop: { wasComputed, refused, wholeRow, againRow } }),
)
await context.close()
