import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type {
  EmbeddedBackend,
  ModelTask,
  Pooled,
  PoolingInput,
  PoolingRequest,
} from '../../../packages/engine/index.ts'
import type { Refusal } from '../../../src/domain/refusals.ts'
import { encoderTokens, type RandomEncoderShape, writeRandomEncoder } from '../../support/random-encoder.ts'
import { writeRandomModel } from '../../support/random-model.ts'
import { startEngine } from './engine.ts'

let folder: string
let count = 0
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'heddle-pooling-'))
})
after(() => rm(folder, { recursive: true }))

async function encoder(shape: Partial<RandomEncoderShape> = {}): Promise<string> {
  const file = join(folder, `${++count}.gguf`)
  await writeRandomEncoder(file, shape)
  return file
}

async function decoder(pooling: number): Promise<string> {
  const file = join(folder, `${++count}.gguf`)
  await writeRandomModel(file, { weights: 'q8_0', hidden: 64, context: 256, pooling })
  return file
}

function open(t: TestContext, file: string, { task = 'embeddings' as ModelTask, batch = 128 } = {}) {
  return startEngine(t, { plan: { file, task, context: 128, parallel: 1, batch, queue: 8 } })
}

const never = new AbortController().signal
const textOf = (text: string): PoolingInput => ({ text, addSpecial: true })

async function pool(
  engine: EmbeddedBackend,
  inputs: PoolingInput[],
  others: Partial<PoolingRequest> = {},
  signal = never,
): Promise<Pooled[]> {
  const pooled: Pooled[] = []
  const request = { inputs, field: 'input', isList: true, priority: 0, tenant: 'alice', ...others }
  await engine.pool(request, (one) => pooled.push(one), signal)
  return pooled
}

/** The results of the package itself. */
async function byPackage(file: string, task: ModelTask, texts: (string | number[])[]): Promise<unknown[]> {
  const script = fileURLToPath(new URL('./package-pooling.ts', import.meta.url))
  const given = [script, file, task, JSON.stringify(texts)]
  const { stdout } = await promisify(execFile)(process.execPath, given, { maxBuffer: 16 * 1024 * 1024 })
  return JSON.parse(stdout) as unknown[]
}

function isNear(one: ArrayLike<number>, other: ArrayLike<number>, most = 1e-4): void {
  assert.equal(one.length, other.length)
  for (let index = 0; index < one.length; index++) {
    const difference = Math.abs((one[index] as number) - (other[index] as number))
    assert.ok(difference < most, `number ${index} differs by ${difference}`)
  }
}

const unit = (vector: number[]) => {
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

const texts = ['the cat sat on the mat', 'heddle lifts thread', 'a', 'xyz, qrs! 0123']

for (const pooling of ['mean', 'cls'] as const) {
  test(`an encoder that pools by ${pooling} gives the vectors of the package, with length 1`, async (t) => {
    const file = await encoder({ pooling })
    const engine = await open(t, file)
    assert.deepEqual(engine.model()?.tasks, ['embeddings'])
    assert.equal(engine.model()?.dimensions, 64)
    const pooled = await pool(engine, texts.map(textOf))
    const expected = (await byPackage(file, 'embeddings', texts)) as number[][]
    assert.deepEqual(
      pooled.map(({ input }) => input),
      [0, 1, 2, 3],
    )
    for (const [index, { values }] of pooled.entries()) {
      isNear(values, unit(expected[index] as number[]))
      isNear([Math.hypot(...values)], [1])
    }
    // Different texts have different vectors.
    assert.ok(
      Math.abs(((pooled[0] as Pooled).values[0] as number) - ((pooled[1] as Pooled).values[0] as number)) >
        1e-3,
    )
  })
}

for (const [name, number] of [
  ['its last token', 3],
  ['mean', 1],
] as const) {
  test(`a decoder that pools by ${name} gives the vectors of the package`, async (t) => {
    const file = await decoder(number)
    const engine = await open(t, file)
    const pooled = await pool(engine, texts.map(textOf))
    const expected = (await byPackage(file, 'embeddings', texts)) as number[][]
    for (const [index, { values }] of pooled.entries())
      isNear(values, unit(expected[index] as number[]), 2e-3)
  })
}

test('a text computed in several batches has the same vector as in one', async (t) => {
  const file = await decoder(3)
  const long = 'the heddle lifts each thread so that the weave can form and the cat sat'
  const [whole] = await pool(await open(t, file), [textOf(long)])
  const [pieces] = await pool(await open(t, file, { batch: 8 }), [textOf(long)])
  assert.ok((whole as Pooled).tokens > 32)
  isNear((pieces as Pooled).values, (whole as Pooled).values, 2e-3)
})

test('a reranker gives the scores of the package, from 0 to 1', async (t) => {
  const file = await encoder({ pooling: 'rank' })
  const engine = await open(t, file, { task: 'ranking' })
  assert.deepEqual(engine.model()?.tasks, ['ranking'])
  const [query = '', ...documents] = texts
  const pooled = await pool(
    engine,
    documents.map((document) => ({ query, document })),
  )
  // The package omits the token that ends a document, with which encoders were trained.
  const probe = await open(t, file, { task: 'ranking' })
  const ended = await Promise.all(
    documents.map(async (document) => [
      ...(await probe.tokenize(document, { special: false, add: false }, never)),
      encoderTokens.sep,
    ]),
  )
  const expected = (await byPackage(file, 'ranking', [query, ...ended])) as number[]
  isNear(
    pooled.map(({ values }) => values[0] as number),
    expected,
  )
  for (const { values } of pooled)
    assert.ok(values.length === 1 && (values[0] as number) > 0 && (values[0] as number) < 1)
})

test('tokens are used unchanged, and a text gets the control tokens of the model', async (t) => {
  const engine = await open(t, await encoder())
  const tokens = await engine.tokenize('the cat', { special: false, add: true }, never)
  assert.equal(tokens[0], encoderTokens.cls)
  assert.equal(tokens.at(-1), encoderTokens.sep)
  const [ofText, ofTokens, bare, names] = await pool(engine, [
    textOf('the cat'),
    { tokens },
    { text: 'the cat', addSpecial: false },
    textOf('[SEP]'),
  ])
  assert.deepEqual(ofText?.values, ofTokens?.values)
  assert.equal(ofText?.tokens, tokens.length)
  assert.equal(bare?.tokens, tokens.length - 2)
  // The name of a control token in a text stays text.
  assert.ok((names as Pooled).tokens > 3)
})

test('an invalid input is refused by its path before anything is computed', async (t) => {
  const engine = await open(t, await encoder())
  const long = 'cat '.repeat(200)
  for (const [inputs, code, field] of [
    [[textOf('cat'), textOf(long)], 'input_too_long', 'input.1'],
    [[{ tokens: [] }], 'prompt_empty', 'input.0'],
    [[{ tokens: [encoderTokens.size] }], 'invalid_value', 'input.0'],
    [[{ text: ' ', addSpecial: false }], 'prompt_empty', 'input.0'],
  ] as [PoolingInput[], string, string][]) {
    const heard: Pooled[] = []
    const request = { inputs, field: 'input', isList: true, priority: 0, tenant: 'alice' }
    await assert.rejects(
      engine.pool(request, (one) => heard.push(one), never),
      (error: Refusal) => {
        assert.deepEqual([error.code, error.values.field], [code, field])
        return true
      },
    )
    assert.equal(heard.length, 0)
  }
})

test('a text is truncated at its end or its beginning, and keeps its control tokens', async (t) => {
  const engine = await open(t, await encoder())
  const words = ['the', 'cat', 'sat', 'on', 'mat']
  const cut = (text: string, tokens: number, side: 'left' | 'right' = 'right') =>
    pool(engine, [textOf(text)], { truncate: { tokens, side } }).then(([one]) => one as Pooled)
  const plain = async (text: string) => ((await pool(engine, [textOf(text)]))[0] as Pooled).values
  assert.deepEqual((await cut(words.join(' '), 4)).values, await plain('the cat'))
  assert.deepEqual((await cut(words.join(' '), 4, 'left')).values, await plain('on mat'))
  assert.equal((await cut('cat '.repeat(500), -1)).tokens, 128)
  assert.equal((await cut('cat', -1)).tokens, 3)
})

test('a document may be truncated, but not a query', async (t) => {
  const engine = await open(t, await encoder({ pooling: 'rank' }), { task: 'ranking' })
  const truncate = { tokens: -1, side: 'left' } as const
  const [pair] = await pool(engine, [{ query: 'cat', document: 'mat '.repeat(500) }], { truncate })
  assert.equal(pair?.tokens, 128)
  await assert.rejects(pool(engine, [{ query: 'cat '.repeat(500), document: 'mat' }], { truncate }), {
    code: 'input_too_long',
  })
})

test('texts of several tenants take turns', async (t) => {
  const engine = await open(t, await encoder())
  const order: string[] = []
  const ask = (tenant: string, texts: number) =>
    engine.pool(
      {
        inputs: Array.from({ length: texts }, () => textOf('the cat sat')),
        field: 'input',
        isList: true,
        priority: 0,
        tenant,
      },
      () => order.push(tenant),
      never,
    )
  await Promise.all([ask('library', 200), ask('question', 2)])
  assert.ok(
    order.lastIndexOf('question') < 150,
    `the question was answered after ${order.lastIndexOf('question')} texts`,
  )
  assert.equal(order.length, 202)
})

test('when a client disconnects its other texts are not computed, and the engine continues', async (t) => {
  const engine = await open(t, await encoder())
  const leaving = new AbortController()
  const inputs = Array.from({ length: 2_000 }, () => textOf('the cat sat on the mat'))
  let heard = 0
  const left = engine.pool(
    { inputs, field: 'input', isList: true, priority: 0, tenant: 'alice' },
    () => {
      if (++heard === 3) leaving.abort(new Error('left'))
    },
    leaving.signal,
  )
  await assert.rejects(left, { message: 'left' })
  const [answer] = await pool(engine, [textOf('cat')])
  assert.equal(answer?.tokens, 3)
  assert.equal(heard, 3)
  const status = engine.status()
  assert.deepEqual(status.state === 'ready' && [status.running, status.waiting], [0, 0])
})

test('a full queue refuses requests', async (t) => {
  const engine = await open(t, await encoder())
  const inputs = Array.from({ length: 500 }, () => textOf('the cat sat on the mat'))
  const leaving = new AbortController()
  const asked = Array.from({ length: 12 }, () => pool(engine, inputs, {}, leaving.signal))
  const outcomes = Promise.allSettled(asked)
  await assert.rejects(pool(engine, [textOf('cat')]), { status: 429 })
  leaving.abort()
  const codes = (await outcomes).flatMap((one) =>
    one.status === 'rejected' ? [(one.reason as Refusal).code] : [],
  )
  assert.ok(codes.includes('engine_queue_full') || codes.includes('engine_share_full'))
  assert.equal((await pool(engine, [textOf('cat')])).length, 1)
})

test('when the engine dies its request is refused, and the next engine serves', async (t) => {
  const engine = await startEngine(t, {
    plan: { file: await encoder(), task: 'embeddings', context: 128, parallel: 1, batch: 128, queue: 8 },
    supervision: { restartMs: 1 },
  })
  const inputs = Array.from({ length: 2_000 }, () => textOf('the cat sat on the mat'))
  const request = { inputs, field: 'input', isList: true, priority: 0, tenant: 'alice' }
  let heard = 0
  const failed = engine.pool(
    request,
    () => {
      if (++heard === 1) process.kill(engine.pid() as number, 'SIGKILL')
    },
    never,
  )
  await assert.rejects(failed, { code: 'engine_failed' })
  while (engine.status().state !== 'ready') await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal((await pool(engine, [textOf('cat')])).length, 1)
})
