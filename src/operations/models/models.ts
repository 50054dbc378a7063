import type { AnswerFormat } from '../../../packages/chat-format/index.ts'
import type { BackendStatus, ServedModel } from '../../../packages/engine/index.ts'
import type { Caller } from '../../domain/callers.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { Model } from '../../inference/model.ts'
import type { Models } from '../../inference/registry.ts'
import { listPage } from '../list-pages.ts'
import type { ModelCard, ModelList, ModelsQuery } from './contract.ts'

/** The served models under each of their names. */
export async function listModels(models: Models, caller: Caller, query: ModelsQuery): Promise<ModelList> {
  // Refused while the first model is being loaded, so that no client mistakes an empty list for the truth.
  const seen = models.seenBy(caller)
  if (seen.length > 0 && seen.every((model) => model.served() === undefined))
    models.find(undefined, caller, 'any')
  const cards = await Promise.all(seen.map(cardsOf))
  return pageOf(cards.flat(), query)
}

/** The first of the models between the two ids, or the last if the page ends at an id. */
function pageOf(cards: ModelCard[], { limit = cards.length, after_id, before_id }: ModelsQuery) {
  const indexOf = (field: string, id: string) => {
    const index = cards.findIndex((card) => card.id === id)
    if (index === -1) throw wrong(field, JSON.stringify(id), 'the id of a listed model')
    return index
  }
  const begin = after_id === undefined ? 0 : indexOf('after_id', after_id) + 1
  const end = before_id === undefined ? cards.length : indexOf('before_id', before_id)
  const between = cards.slice(begin, end)
  const data = before_id === undefined ? between.slice(0, limit) : between.slice(-limit)
  return listPage(data, data, data.length < between.length)
}

async function cardsOf(model: Model): Promise<ModelCard[]> {
  const served = model.served()
  if (served === undefined) return []
  const format = await model.format()
  return served.names.map((name) => cardOf(served, name, model.status(), format))
}

export async function readModel(models: Models, caller: Caller, name: string): Promise<ModelCard> {
  if (models.all.length > 0) {
    const { model, served } = models.find(name, caller, 'any')
    return cardOf(served, name, model.status(), await model.format())
  }
  throw refuse('model_not_found', {
    field: 'model',
    model: JSON.stringify(name),
    accepted: 'nothing: this server has no model (HEDDLE_MODEL=none)',
  })
}

/** Models of Anthropic give no probabilities. */
const decides = (tasks: readonly string[], device: string) =>
  tasks.includes('answers') && device !== 'upstream: anthropic'

function cardOf(
  { names, created, context, device, tasks = ['answers'], dimensions, parent }: ServedModel,
  id: string,
  { state }: BackendStatus,
  format: AnswerFormat | undefined,
): ModelCard {
  return {
    id,
    object: 'model',
    type: 'model',
    display_name: id,
    created,
    created_at: new Date(created * 1000).toISOString(),
    owned_by: 'heddle',
    root: names[0] ?? id,
    parent: parent ?? null,
    max_model_len: context,
    max_input_tokens: context,
    max_tokens: context,
    device,
    state,
    tasks: [...tasks, ...(decides(tasks, device) ? (['decisions'] as const) : [])],
    dimensions: dimensions ?? null,
    lifecycle: 'active',
    capabilities: null,
    deprecated_at: null,
    retires_at: null,
    line: null,
    tools: format?.proof ?? null,
    reasoning: format?.reasoning !== undefined,
  }
}
