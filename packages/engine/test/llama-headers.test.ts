import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import koffi from 'koffi'
import { openLibraries } from '../llama/library.ts'
import { prototypes, threadPrototypes } from '../llama/prototypes.ts'
import { batch, contextParams, modelParams, poolParams, unusual } from '../llama/structs.ts'
import { folderOf } from '../native/folders.ts'

/** The sources of the pinned release, which its package contains. */
const bundle = fileURLToPath(
  new URL('../../../node_modules/node-llama-cpp/llama/gitRelease.bundle', import.meta.url),
)
const folder = mkdtempSync(join(tmpdir(), 'heddle-headers-'))
after(() => rmSync(folder, { recursive: true }))
execFileSync('git', ['clone', '--bare', '--quiet', bundle, folder], { stdio: 'ignore' })
const paths = [
  'include/llama.h',
  ...['ggml', 'ggml-backend', 'ggml-cpu'].map((name) => `ggml/include/${name}.h`),
]
const headers = paths
  .map((path) => execFileSync('git', ['-C', folder, 'show', `HEAD:${path}`], { encoding: 'utf8' }))
  .join('\n')
  .replaceAll(/\/\/.*|\/\*[\s\S]*?\*\//g, '')

/** `const struct llama_model * model` and `llama_model *model` are `llama_model*`. */
function typeOf(declared: string): string {
  const words = declared.match(/\w+|\*/g)?.filter((word) => !['const', 'struct', 'enum'].includes(word)) ?? []
  const isNamed = words.filter((word) => word !== '*').length > 1
  return (isNamed ? words.slice(0, -1) : words).join('')
}

function signature(prefix: string, name: string, text: string): string {
  const found = new RegExp(`${prefix}([\\w\\s*]+?)\\b${name}\\s*\\(([^)]*)\\)`).exec(text)
  assert.ok(found, `${name} is declared`)
  const [, result = '', parameters = ''] = found
  const types = parameters.split(',').map(typeOf)
  return `${typeOf(`${result} ${name}`)} (${types.filter((type) => type !== '' && type !== 'void')})`
}

test('each function is declared as in the headers of the pinned release', () => {
  const texts = [...Object.values(prototypes).flat(), ...Object.values(threadPrototypes)]
  assert.ok(texts.length > 50)
  for (const text of texts) {
    const name = /(\w+)\(/.exec(text)?.[1] ?? ''
    // Aliases of pointers are written out in the declarations of threads.
    const plain = (value: string) => value.replaceAll('ggml_threadpool*', 'ggml_threadpool_t')
    const declared = plain(signature('(?:LLAMA|GGML|GGML_BACKEND)_API', name, headers))
    assert.equal(signature('^', name, text), declared, name)
  }
})

/** The fields of a struct with the types that koffi has for them. */
function fieldsOf(name: string): [name: string, type: string][] {
  const [, body = ''] = new RegExp(`struct ${name} \\{([^}]*)\\}`).exec(headers) ?? []
  return body
    .split(';')
    .map((declaration) => declaration.trim())
    .filter((declaration) => declaration !== '')
    .map((declaration) => {
      const [, field = '', size] = /(\w+)(?:\[(\w+)\])?$/.exec(declaration) ?? []
      const type = typeOf(declaration.replace(/\[\w+\]$/, ''))
      if (type.includes('*') || type.endsWith('_callback')) return [field, 'void *']
      if (size !== undefined) {
        const length = new RegExp(`#define\\s+${size}\\s+(\\d+)`).exec(headers)?.[1]
        return [field, `${type}[${length}]`]
      }
      return [field, /^(u?int32_t|float|bool|size_t)$/.test(type) ? type : 'int32_t']
    })
}

test('each struct has the fields of the headers of the pinned release, in their order', () => {
  for (const [name, fields, count] of [
    ['llama_model_params', modelParams, 17],
    ['llama_context_params', contextParams, 37],
    ['llama_batch', batch, 7],
    ['ggml_threadpool_params', poolParams, 6],
  ] as const) {
    const ours = Object.entries(fields).map(([field, [type]]) => [field, type])
    assert.equal(ours.length, count, name)
    assert.deepEqual(ours, fieldsOf(name), name)
  }
})

test('the installed libraries are those of the pinned release, and others would be refused', () => {
  const { call } = openLibraries(folderOf(false) ?? assert.fail('no build is installed'))
  const params = call.llama_model_default_params()
  assert.deepEqual(unusual(modelParams, params), [])
  assert.deepEqual(unusual(modelParams, { ...params, lazy_mode: 0, use_extra_bufts: false }), [
    'lazy_mode',
    'use_extra_bufts',
  ])
  assert.deepEqual(
    ['llama_model_params', 'llama_context_params', 'llama_batch'].map((name) => koffi.sizeof(name)),
    [80, 160, 56],
  )
  assert.throws(() => openLibraries(tmpdir()), /already uses the build in/)
})
