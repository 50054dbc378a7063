import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkAdapters, readGgufHeader } from '../../../packages/engine/index.ts'
import { settings } from '../../../src/config.ts'
import { writeRandomAdapter } from '../../support/random-adapter.ts'
import { writeRandomModel } from '../../support/random-model.ts'

test('adapters are checked by their headers, and one that does not fit is refused with the reason', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-adapters-'))
  t.after(() => rm(folder, { recursive: true }))
  const at = (name: string) => join(folder, `${name}.gguf`)
  await writeRandomModel(at('base'))
  await writeRandomAdapter(at('poet'))
  await writeRandomAdapter(at('other'), { architecture: 'gemma' })
  const header = await readGgufHeader(at('base'))
  const model = { ...header, shownName: 'base.gguf', names: ['base'] }
  const check = (name: string, file: string) => checkAdapters([{ name, path: at(file) }], model)
  const { adapters, adapterBytes } = await check('poet', 'poet')
  assert.deepEqual(adapters, [{ name: 'poet', file: at('poet') }])
  assert.equal(adapterBytes, (await readGgufHeader(at('poet'))).fileBytes)
  await assert.rejects(
    check('base', 'poet'),
    /and base\.gguf already has that name; accepted: another name\.$/,
  )
  await assert.rejects(
    check('poet', 'base'),
    /but base\.gguf is a file of the kind "model"; accepted: GGUF files of adapters/,
  )
  await assert.rejects(
    check('poet', 'other'),
    /but it is an adapter of the architecture gemma; accepted: those of llama/,
  )
  await assert.rejects(check('poet', 'missing'), /cannot be read/)
})

test('HEDDLE_LORA lists names and paths', () => {
  const { schema } = settings.lora
  assert.deepEqual(schema.parse('poet=/a/b.gguf, judge=c=d.gguf'), [
    { name: 'poet', path: '/a/b.gguf' },
    { name: 'judge', path: 'c=d.gguf' },
  ])
  assert.deepEqual(schema.parse(''), [])
  for (const wrong of ['poet', 'poet=', '=a.gguf', 'a=b,a=c', 'two words=a']) {
    assert.equal(schema.safeParse(wrong).success, false, wrong)
  }
})
