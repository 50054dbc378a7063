import { openAiRefusalContracts, type Routes } from '../../http/contracts.ts'
import type { GenerationParts } from '../generation/parts.ts'
import { family } from '../parts.ts'
import { ModelCard, ModelList, ModelPath, ModelRest, ModelsQuery } from './contract.ts'
import { listModels, readModel } from './models.ts'

const tags = ['models']

type RoutePlugin = Routes<GenerationParts>

const shortly = (cards: readonly ModelCard[]) =>
  cards.map(({ id, created_at }) => ({ name: id, description: '', release_date: created_at.slice(0, 10) }))

const list: RoutePlugin = async (app, { models }) => {
  const schema = {
    summary: 'List the served models',
    tags,
    querystring: ModelsQuery,
    response: { 200: ModelList, ...openAiRefusalContracts('invalid_request') },
  }
  app.get('/v1/models', { config: { right: 'own' }, schema }, async ({ caller, query, headers }) => {
    const listed = await listModels(models, caller, query)
    return headers['x-typesafe-sdk'] === undefined ? listed : { ...listed, models: shortly(listed.data) }
  })
}

const read: RoutePlugin = async (app, { models }) => {
  const response = { 200: ModelCard, ...openAiRefusalContracts('model_not_found', 'invalid_request') }
  const schema = { summary: 'Read a model by its name', tags, params: ModelPath, response }
  app.get('/v1/models/:model', { config: { right: 'own' }, schema }, async (request) =>
    readModel(models, request.caller, request.params.model),
  )
  // Names such as org/name, from clients that do not encode the slash.
  app.get(
    '/v1/models/*',
    { config: { right: 'own' }, schema: { hide: true, params: ModelRest, response } },
    async (request) => readModel(models, request.caller, request.params['*']),
  )
}

export const modelRoutes = family(list, read)
