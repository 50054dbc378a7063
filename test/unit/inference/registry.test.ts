import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Refusal } from '../../../src/domain/refusals.ts'
import { localModels } from '../../../src/inference/local-model.ts'
import { createModels } from '../../../src/inference/registry.ts'
import { scriptedBackend, scriptedModel } from '../../support/scripted-backend.ts'

/** A registry of models with these names, followed by `starting` models that are not loaded. */
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

const anyone = {}

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
    assert.equal(models.find(name, anyone).served.names[0], first)
  }
})

test('an unknown name is refused with the names that exist', () => {
  const found = refusal(() => registry([['small', 'tiny'], ['large']]).find('huge', anyone))
  assert.equal(found?.code, 'model_not_found')
  assert.match(found?.message ?? '', /"huge".*"small", "tiny", "large"/)
})

test('while a model is being loaded, an unknown name may be its name', () => {
  const models = registry([['small']], 1)
  assert.equal(models.find('small', anyone).served.names[0], 'small')
  assert.equal(refusal(() => models.find('huge', anyone))?.code, 'model_not_ready')
})

test('a request without a name waits for the first model, not for another', () => {
  assert.equal(refusal(() => registry([], 1).find(undefined, anyone))?.code, 'model_not_ready')
})

test('a server without a model refuses requests with the reason', () => {
  const found = refusal(() => registry([]).find('any', anyone))
  assert.equal(found?.code, 'model_not_ready')
  assert.match(found?.message ?? '', /HEDDLE_MODEL=none/)
})

test('closing the registry closes its models and shared parts, also when one fails', async () => {
  const closed: string[] = []
  const [model] = registry([['small']]).all
  assert.ok(model)
  const failing = { ...model, close: () => Promise.reject(new Error('stuck')) }
  const models = createModels([failing], async () => void closed.push('shared'))
  await assert.rejects(models.close(), /stuck/)
  assert.deepEqual(closed, ['shared'])
})

test('a user with a list of models sees only those, and other models are unknown to it', () => {
  const models = registry([['small', 'tiny'], ['large'], ['huge']])
  const asker = { settings: { models: ['large', 'tiny'] } }
  assert.deepEqual(
    models.seenBy(asker).map((model) => model.served()?.names[0]),
    ['small', 'large'],
  )
  // A model that is listed by an alias may be requested by each of its names.
  assert.equal(models.find('small', asker).served.names[0], 'small')
  const hidden = refusal(() => models.find('huge', asker))
  const unknown = refusal(() => models.find('none', asker))
  assert.deepEqual(hidden, { ...unknown, message: unknown?.message.replace('"none"', '"huge"') })
  assert.equal(models.find(undefined, { settings: { models: ['large'] } }).served.names[0], 'large')
  assert.equal(
    refusal(() => models.find(undefined, { settings: { models: ['gone'] } }))?.code,
    'model_not_found',
  )
})

test('a model is used only for its tasks, and a request without a name gets one for its task', () => {
  const [writes, embeds] = registry([['writes'], ['embeds']]).all.map((model, index) => ({
    ...model,
    served: () => {
      const served = model.served()
      return served && { ...served, tasks: [index === 0 ? ('answers' as const) : ('embeddings' as const)] }
    },
  }))
  assert.ok(writes && embeds)
  const models = createModels([writes, embeds])
  assert.equal(models.find(undefined, anyone).served.names[0], 'writes')
  assert.equal(models.find(undefined, anyone, 'embeddings').served.names[0], 'embeds')
  const wrong = refusal(() => models.find('writes', anyone, 'embeddings'))
  assert.deepEqual(wrong, {
    code: 'model_lacks',
    message: 'model: the model "writes" gives no embeddings; accepted: "embeds".',
  })
  assert.equal(refusal(() => models.find(undefined, anyone, 'ranking'))?.code, 'model_lacks')
  assert.equal(models.find('embeds', anyone, 'any').served.names[0], 'embeds')
})
