import { answers } from '../../http/contracts.ts'
import { family, type Operation } from '../parts.ts'
import { CreateAnswer, CreateBody, PurgeAnswer, PurgeBody, QueryAnswer, QueryBody } from './contract.ts'
import { createPrices, purgePrices, queryPrices } from './prices.ts'

const tags = ['costs']

const create: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Say what models cost',
    tags,
    body: CreateBody,
    response: answers(CreateAnswer, 'invalid_value'),
  }
  app.post('/cost/create', { schema }, (request) => createPrices(db, request.caller, request.body))
}

const query: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Find prices',
    tags,
    body: QueryBody,
    response: answers(QueryAnswer, 'invalid_value'),
  }
  app.post('/cost/query', { schema }, (request) => queryPrices(db, request.caller, request.body))
}

const purge: Operation = async (app, { db }) => {
  const schema = {
    summary: 'Remove prices by their ids',
    tags,
    body: PurgeBody,
    response: answers(PurgeAnswer, 'invalid_value'),
  }
  app.post('/cost/purge', { schema }, async (request) => {
    await purgePrices(db, request.caller, request.body)
    return {}
  })
}

export const priceRoutes = family(create, query, purge)
