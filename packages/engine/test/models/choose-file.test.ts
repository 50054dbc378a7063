import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseFile, sourceOf } from '../../models/find.ts'
import { ModelError } from '../../models/model-error.ts'

const chosen = (wanted: string | undefined, ...paths: string[]) => chooseFile('acme/tiny', wanted, paths)

for (const [wanted, paths, expected] of [
  [undefined, ['m-Q8_0.gguf', 'm-Q4_K_M.gguf', 'm-F16.gguf'], 'm-Q4_K_M.gguf'],
  [undefined, ['m-F16.gguf', 'm-q8_0.gguf'], 'm-q8_0.gguf'],
  [undefined, ['anything.gguf'], 'anything.gguf'],
  [undefined, ['mmproj-F16.gguf', 'model.gguf'], 'model.gguf'],
  [undefined, ['m.imatrix.gguf', 'm.IQ1_S.gguf'], 'm.IQ1_S.gguf'],
  ['Q4_K_M', ['m-UD-Q4_K_M.gguf', 'm-Q4_K_M.gguf'], 'm-Q4_K_M.gguf'],
  ['q4_k_m', ['m.Q4_K_M.gguf'], 'm.Q4_K_M.gguf'],
  ['Q4_K', ['m-Q4_K_M.gguf', 'm-Q4_K.gguf'], 'm-Q4_K.gguf'],
  ['Q4_0', ['m-IQ4_0.gguf', 'm-Q4_0.gguf', 'm-Q4_0_8_8.gguf'], 'm-Q4_0.gguf'],
  ['UD-Q4_K_XL', ['m-UD-Q4_K_XL.gguf', 'm-Q4_K_XL.gguf'], 'm-UD-Q4_K_XL.gguf'],
  ['BF16', ['BF16/model.gguf', 'F16/model.gguf'], 'BF16/model.gguf'],
  ['F16', ['BF16/model.gguf', 'F16/model.gguf'], 'F16/model.gguf'],
  ['a.gguf', ['x/a.gguf', 'a.gguf'], 'a.gguf'],
  ['a.gguf', ['x/a.gguf', 'b.gguf'], 'x/a.gguf'],
  ['mmproj-x.gguf', ['mmproj-x.gguf'], 'mmproj-x.gguf'],
] as const) {
  test(`the choice of ${wanted ?? 'nothing'} from ${paths.join(', ')} gives ${expected}`, () => {
    assert.equal(chosen(wanted, ...paths), expected)
    assert.equal(chosen(wanted, ...paths.toReversed()), expected)
  })
}

for (const [wanted, paths, message] of [
  [undefined, [], 'acme/tiny has no .gguf file; accepted: repositories with GGUF models.'],
  [undefined, ['mmproj-F16.gguf'], 'acme/tiny has no .gguf file; accepted: repositories with GGUF models.'],
  [
    undefined,
    ['a.gguf', 'b.gguf'],
    'acme/tiny has several models and none of the usual kinds; accepted after its name and a colon: a.gguf, b.gguf.',
  ],
  ['Q2_K', ['m-Q4_0.gguf'], 'acme/tiny has no Q2_K; accepted after its name and a colon: m-Q4_0.gguf.'],
  ['.*', ['m-Q4_0.gguf'], 'acme/tiny has no .*; accepted after its name and a colon: m-Q4_0.gguf.'],
  [
    'a.gguf',
    ['x/a.gguf', 'y/a.gguf'],
    'acme/tiny has no a.gguf; accepted after its name and a colon: x/a.gguf, y/a.gguf.',
  ],
  [
    'Q8_0',
    ['m-Q8_0-00001-of-00003.gguf', 'm-Q8_0-00002-of-00003.gguf', 'm-Q4_0.gguf'],
    'acme/tiny: m-Q8_0-00001-of-00003.gguf is one of 3 files of a split model; accepted: models in one file (m-Q4_0.gguf).',
  ],
] as const) {
  test(`the choice of ${wanted ?? 'nothing'} from ${paths.join(', ') || 'nothing'} is refused`, () => {
    assert.throws(
      () => chosen(wanted, ...paths),
      (error) => error instanceof ModelError && error.message === message,
    )
  })
}

test('HEDDLE_MODEL names nothing, the built-in model, a file or a repository', () => {
  assert.deepEqual(sourceOf('none'), { kind: 'none' })
  assert.deepEqual(sourceOf('builtin'), { kind: 'builtin' })
  assert.deepEqual(sourceOf('./builtin'), { kind: 'file', path: './builtin' })
  assert.deepEqual(sourceOf('C:\\m.gguf'), { kind: 'file', path: 'C:\\m.gguf' })
  assert.deepEqual(sourceOf('hf:a/b'), { kind: 'hub', repository: 'a/b', wanted: undefined })
  assert.deepEqual(sourceOf('hf:a/b:x/y.gguf'), { kind: 'hub', repository: 'a/b', wanted: 'x/y.gguf' })
})
