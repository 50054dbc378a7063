import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from '../../../test/support/fast-check.ts'
import { createStateFiles } from '../prompt-cache/state-files.ts'

/** A context whose files have the header and tokens of llama.cpp, and a byte of state for each token. */
function openFiles(t: TestContext, { fingerprint = 'one', folder = newFolder(t) } = {}) {
  const said: string[] = []
  const loaded: Buffer[] = []
  let save = (path: string, _: number, tokens: Uint32Array): number => {
    const state = Buffer.from(Uint8Array.from(tokens, (token) => token ^ 0x55))
    const bytes = Buffer.concat([
      Buffer.from(Uint32Array.of(1, 2, tokens.length).buffer),
      Buffer.from(tokens.slice().buffer),
      state,
    ])
    writeFileSync(path, bytes)
    return bytes.length
  }
  let pause = async () => {}
  const context = {
    async save(path: string, sequence: number, tokens: Uint32Array) {
      const bytes = save(path, sequence, tokens)
      await pause()
      return bytes
    },
    async load(path: string) {
      loaded.push(readFileSync(path))
      return Uint32Array.of()
    },
    forget: () => true,
  }
  const files = createStateFiles({ context, folder, fingerprint, say: (line) => said.push(line) })
  return {
    ...{ files, folder, said, loaded },
    saves(how: typeof save) {
      save = how
    },
    /** Called after writing, before the file is checked. */
    pauses(how: typeof pause) {
      pause = how
    },
  }
}

function newFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-states-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return join(folder, 'kept')
}

const tokens = [5, 6, 7, 70_000]

test('saved states are found by the next engine, the oldest first', async (t) => {
  const { files, folder } = openFiles(t)
  files.found(100)
  const old = await files.save(0, tokens, 'key')
  const young = await files.save(0, [1, 2], 'other')
  assert.ok(old && young)
  utimesSync(old.path, 1, 1)
  const next = openFiles(t, { folder })
  const found = next.files.found(100)
  assert.deepEqual(
    found.map((one) => [Array.from(one.tokens), one.key, one.file]),
    [
      [tokens, 'key', old],
      [[1, 2], 'other', young],
    ],
  )
  assert.equal(statSync(old.path).mode & 0o777, 0o600)
  assert.equal(await next.files.load(old, 4, 0, 3), true)
  assert.equal(next.loaded.length, 1)
  assert.ok(statSync(old.path).mtimeMs > 1000, 'it is now the latest')
  assert.deepEqual(next.said, [])
})

test('files with another fingerprint or too many tokens are removed, and that is logged', async (t) => {
  const { files, folder } = openFiles(t)
  files.found(100)
  await files.save(0, tokens, 'key')
  assert.deepEqual(openFiles(t, { folder, fingerprint: 'two' }).files.found(100), [])
  assert.deepEqual(readdirSync(folder), [])
  await files.save(0, tokens, 'key')
  const short = openFiles(t, { folder })
  assert.deepEqual(short.files.found(3), [])
  assert.deepEqual(readdirSync(folder), [])
  assert.match(short.said.join(), /1 kept prompts in .* are of others, and were removed/)
})

test('a full disk or a partial write leaves no file and is logged once', async (t) => {
  const { files, folder, said, saves } = openFiles(t)
  files.found(100)
  for (const how of [
    (path: string) => {
      writeFileSync(path, 'a part')
      throw new Error('ENOSPC: no space left on device')
    },
    (path: string) => {
      writeFileSync(path, 'a part')
      return 600
    },
  ]) {
    saves(how)
    assert.equal(await files.save(0, tokens, 'key'), undefined)
    assert.deepEqual(readdirSync(folder), [])
  }
  assert.deepEqual(said.length, 1)
  assert.match(said[0] ?? '', /could not be kept on disk: ENOSPC/)
})

test('two servers that share a folder may write the same prompt at once, and both can use it', async (t) => {
  const one = openFiles(t)
  one.files.found(100)
  const other = openFiles(t, { folder: one.folder })
  other.files.found(100)
  const begun = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  one.pauses(async () => {
    begun.resolve()
    await goOn.promise
  })
  const slow = one.files.save(0, tokens, 'key')
  await begun.promise
  const quick = await other.files.save(0, tokens, 'key')
  assert.ok(quick)
  goOn.resolve()
  assert.deepEqual(await slow, quick)
  for (const { files } of [one, other]) assert.equal(await files.load(quick, 4, 0, 4), true)
  assert.equal(readdirSync(one.folder).length, 1)
  // One of them removes a file that the other remembers.
  one.files.remove(quick)
  assert.equal(await other.files.load(quick, 4, 0, 4), false)
  assert.deepEqual(one.said, [])
})

test('partial files of a process that was killed are removed by the next one', async (t) => {
  const { files, folder, said } = openFiles(t)
  files.found(100)
  const ended = spawnSync(process.execPath, ['--version']).pid
  writeFileSync(join(folder, `aa.${ended}-12ab.part`), 'a part')
  writeFileSync(join(folder, 'bb.part'), 'of an older version')
  writeFileSync(join(folder, `bc.${process.pid}-12ab.part`), 'of the same number in another container')
  writeFileSync(join(folder, `cc.${process.ppid}-12ab.part`), 'being written')
  assert.deepEqual(files.found(100), [])
  assert.deepEqual(readdirSync(folder), [`cc.${process.ppid}-12ab.part`])
  assert.match(said.join(), /3 kept prompts in .* are not finished, and were removed/)
})

test('llama.cpp never reads a damaged file', async (t) => {
  const folder = newFolder(t)
  const first = openFiles(t, { folder })
  first.files.found(100)
  const written = await first.files.save(0, tokens, 'key')
  assert.ok(written)
  const good = readFileSync(written.path)
  await fc.assert(
    fc.asyncProperty(
      fc.nat(good.length - 1),
      fc.integer({ min: 1, max: 255 }),
      fc.boolean(),
      async (at, flip, cut) => {
        const bytes = cut ? good.subarray(0, at) : Buffer.from(good)
        if (!cut) bytes[at] = (bytes[at] ?? 0) ^ flip
        writeFileSync(written.path, bytes)
        const { files, loaded, said } = openFiles(t, { folder })
        const [found] = files.found(100)
        if (found !== undefined) assert.equal(await files.load(found.file, found.tokens.length, 0, 2), false)
        assert.deepEqual(loaded, [])
        assert.deepEqual(readdirSync(folder), [])
        assert.equal(said.length, 1)
      },
    ),
  )
})
