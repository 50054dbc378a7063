import { refuse } from '../../domain/refusals.ts'
import type { ServedModel } from '../../inference/backend.ts'
import type { Models } from '../../inference/registry.ts'
import type { ModelCard, ModelList } from './contract.ts'

/** The served models under each of their names. */
export function listModels(models: Models): ModelList {
  // Refused while the first is being loaded, so that no client takes an empty list for the truth.
  if (models.all.length > 0) models.find(undefined)
  const served = models.all.flatMap((model) => model.served() ?? [])
  return { object: 'list', data: served.flatMap((one) => one.names.map((name) => cardOf(one, name))) }
}

export function readModel(models: Models, name: string): ModelCard {
  if (models.all.length > 0) return cardOf(models.find(name).served, name)
  throw refuse('model_not_found', {
    field: 'model',
    model: JSON.stringify(name),
    accepted: 'none, this server has no model (HEDDLE_MODEL=none)',
  })
}

function cardOf({ names, created, context, device }: ServedModel, id: string): ModelCard {
  return {
    id,
    object: 'model',
    created,
    owned_by: 'heddle',
    root: names[0] ?? id,
    parent: null,
    max_model_len: context,
    device,
  }
}
