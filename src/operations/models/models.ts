import { refuse } from '../../domain/refusals.ts'
import type { Backend, ServedModel } from '../../inference/backend.ts'
import { servedModel } from '../chat/served-model.ts'
import type { ModelCard, ModelList } from './contract.ts'

/** The served model under each of its names; none where the server has no model at all. */
export function listModels(backend: Backend | undefined): ModelList {
  if (backend === undefined) return { object: 'list', data: [] }
  const { model } = servedModel(backend, undefined)
  return { object: 'list', data: model.names.map((name) => cardOf(model, name)) }
}

export function readModel(backend: Backend | undefined, name: string): ModelCard {
  if (backend !== undefined) return cardOf(servedModel(backend, name).model, name)
  throw refuse('model_not_found', {
    field: 'model',
    model: JSON.stringify(name),
    accepted: 'none, this server has no model (HEDDLE_MODEL=none)',
  })
}

function cardOf({ names, created, context }: ServedModel, id: string): ModelCard {
  return {
    id,
    object: 'model',
    created,
    owned_by: 'heddle',
    root: names[0] ?? id,
    parent: null,
    max_model_len: context,
  }
}
