import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Refusal } from '../../../src/domain/refusals.ts'
import { localModels } from '../../../src/inference/local-model.ts'
import { createModels } from '../../../src/inference/registry.ts'
import { scriptedBackend, scriptedModel } from '../../support/scripted-backend.ts'

/** A registry of models with these names; the last ones are not loaded. */
function registry(loaded: string[][], starting = 0) {
  const named = (names: string[] | undefined) => {
    const backend = scriptedBackend()
    backend.served = names && { ...scriptedModel, names }
    if (names === undefined) backend.state = { state: 'starting', doing: 'loading' }
    const [model] = localModels(backend).all
    assert.ok(model)
    return model
  }
  return createModels([...loaded.map(named), ...Array.from({ length: starting }, () => named(undefined))])
}

const refusal = (find: () => unknown) => {
  try {
    find()
  } catch (error) {
    return { code: (error as Refusal).code, message: (error as Refusal).message }
  }
  return undefined
}

test('a model is found by each of its names, and the first one where a request names none', () => {
  const models = registry([['small', 'tiny'], ['large']])
  for (const [name, first] of [
    ['small', 'small'],
    ['tiny', 'small'],
    ['large', 'large'],
    [undefined, 'small'],
    [null, 'small'],
    ['', 'small'],
  ] as const) {
    assert.equal(models.find(name).served.names[0], first)
  }
})

test('a name that no model has is refused with the names that are there', () => {
  const found = refusal(() => registry([['small', 'tiny'], ['large']]).find('huge'))
  assert.equal(found?.code, 'model_not_found')
  assert.match(found?.message ?? '', /"huge".*"small", "tiny", "large"/)
})

test('while a model is being loaded, a name may be its name', () => {
  const models = registry([['small']], 1)
  assert.equal(models.find('small').served.names[0], 'small')
  assert.equal(refusal(() => models.find('huge'))?.code, 'model_not_ready')
})

test('a request without a name waits for the first model, not for another', () => {
  assert.equal(refusal(() => registry([], 1).find(undefined))?.code, 'model_not_ready')
})

test('a server without a model says so', () => {
  const found = refusal(() => registry([]).find('any'))
  assert.equal(found?.code, 'model_not_ready')
  assert.match(found?.message ?? '', /HEDDLE_MODEL=none/)
})

test('closing the registry closes its models and what they share, also when one fails', async () => {
  const closed: string[] = []
  const [model] = registry([['small']]).all
  assert.ok(model)
  const failing = { ...model, close: () => Promise.reject(new Error('stuck')) }
  const models = createModels([failing], async () => void closed.push('shared'))
  await assert.rejects(models.close(), /stuck/)
  assert.deepEqual(closed, ['shared'])
})
