import { type App, recordRefusals, refusing } from '../../http/contracts.ts'
import type { Database } from '../../storage/database.ts'
import { CreateAnswer, CreateBody, PurgeAnswer, PurgeBody, QueryAnswer, QueryBody } from './contract.ts'
import { createPrices, purgePrices, queryPrices } from './prices.ts'

const tags = ['costs']
const response = { ...recordRefusals, ...refusing('invalid_value') }

export function priceRoutes(app: App, db: Database): void {
  app.post(
    '/cost/create',
    {
      schema: {
        summary: 'Say what models cost',
        tags,
        body: CreateBody,
        response: { 200: CreateAnswer, ...response },
      },
    },
    (request) => createPrices(db, request.caller, request.body),
  )
  app.post(
    '/cost/query',
    {
      schema: { summary: 'Find prices', tags, body: QueryBody, response: { 200: QueryAnswer, ...response } },
    },
    (request) => queryPrices(db, request.caller, request.body),
  )
  app.post(
    '/cost/purge',
    {
      schema: {
        summary: 'Remove prices by their ids',
        tags,
        body: PurgeBody,
        response: { 200: PurgeAnswer, ...response },
      },
    },
    async (request) => {
      await purgePrices(db, request.caller, request.body)
      return {}
    },
  )
}
