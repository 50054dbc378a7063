import { type Routes, recordRefusals, refusing } from '../../http/contracts.ts'
import type { Database } from '../../storage/database.ts'
import { family } from '../parts.ts'
import { CreateAnswer, CreateBody, PurgeAnswer, PurgeBody, QueryAnswer, QueryBody } from './contract.ts'
import { createPrices, purgePrices, queryPrices } from './prices.ts'

const tags = ['costs']
const refused = { ...recordRefusals, ...refusing('invalid_value') }

type RoutePlugin = Routes<{ db: Database }>

const create: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Say what models cost',
    tags,
    body: CreateBody,
    response: { 200: CreateAnswer, ...refused },
  }
  app.post('/cost/create', { schema }, (request) => createPrices(db, request.caller, request.body))
}

const query: RoutePlugin = async (app, { db }) => {
  const schema = { summary: 'Find prices', tags, body: QueryBody, response: { 200: QueryAnswer, ...refused } }
  app.post('/cost/query', { schema }, (request) => queryPrices(db, request.caller, request.body))
}

const purge: RoutePlugin = async (app, { db }) => {
  const schema = {
    summary: 'Remove prices by their ids',
    tags,
    body: PurgeBody,
    response: { 200: PurgeAnswer, ...refused },
  }
  app.post('/cost/purge', { schema }, async (request) => {
    await purgePrices(db, request.caller, request.body)
    return {}
  })
}

export const priceRoutes = family(create, query, purge)
