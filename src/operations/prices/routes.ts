import { family, operation } from '../parts.ts'
import { CreateAnswer, CreateBody, PurgeAnswer, PurgeBody, QueryAnswer, QueryBody } from './contract.ts'
import { createPrices, purgePrices, queryPrices } from './prices.ts'

const tags = ['costs']

export const priceRoutes = family(
  operation('POST', '/cost/create', {
    right: 'write',
    summary: 'Create prices of models',
    tags,
    body: CreateBody,
    answer: CreateAnswer,
    refusals: ['invalid_value'],
    rule: ({ db }, { caller, body }) => createPrices(db, caller, body),
  }),
  operation('POST', '/cost/query', {
    right: 'read',
    summary: 'Find prices',
    tags,
    body: QueryBody,
    answer: QueryAnswer,
    refusals: ['invalid_value'],
    rule: ({ db }, { caller, body }) => queryPrices(db, caller, body),
  }),
  operation('POST', '/cost/purge', {
    right: 'write',
    summary: 'Delete prices by id',
    tags,
    body: PurgeBody,
    answer: PurgeAnswer,
    refusals: ['invalid_value'],
    rule: ({ db }, { caller, body }) => purgePrices(db, caller, body),
  }),
)
