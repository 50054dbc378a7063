import { openAiRefusalContracts, type Routes, wireRoutes } from '../../http/contracts.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { family } from '../parts.ts'
import { ModelCard, ModelList, ModelPath, ModelRest, ModelsQuery } from './contract.ts'
import { listModels, readModel } from './models.ts'

const route = wireRoutes('models', openAiRefusalContracts)

type RoutePlugin = Routes<GenerationParts>

const shortly = (cards: readonly ModelCard[]) =>
  cards.map(({ id, created_at }) => ({ name: id, description: '', release_date: created_at.slice(0, 10) }))

const list: RoutePlugin = async (app, { models }) => {
  const querystring = ModelsQuery
  const about = route('own', 'List the served models', ModelList, { querystring }, 'invalid_request')
  app.get('/v1/models', about, async ({ caller, query, headers }) => {
    const listed = await listModels(models, caller, query)
    return headers['x-typesafe-sdk'] === undefined ? listed : { ...listed, models: shortly(listed.data) }
  })
}

const read: RoutePlugin = async (app, { models }) => {
  const summary = 'Read a model by its name'
  const refused = ['model_not_found', 'invalid_request'] as const
  const named = route('own', summary, ModelCard, { params: ModelPath }, ...refused)
  app.get('/v1/models/:model', named, async ({ caller, params }) => readModel(models, caller, params.model))
  // Names such as org/name, from clients that do not encode the slash.
  const rest = route('own', summary, ModelCard, { params: ModelRest, hide: true }, ...refused)
  app.get('/v1/models/*', rest, async ({ caller, params }) => readModel(models, caller, params['*']))
}

export const modelRoutes = family(list, read)
