import { family, operation } from '../parts.ts'
import { viewEvaluations } from './evaluation-list.ts'
import { rankRow } from './row-rank.ts'
import { viewScores } from './score-views.ts'
import { ListAnswer, ListBody, RankAnswer, RankBody, ScoresAnswer, ScoresBody } from './views-contract.ts'

const tags = ['evaluations']

export const evaluationViewRoutes = family(
  operation('POST', '/views/evaluations', {
    summary: 'List evaluations, newest first',
    tags,
    body: ListBody,
    answer: ListAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db, signal }, { caller, body }) => viewEvaluations(db, caller, body, signal),
  }),
  operation('POST', '/views/scores', {
    summary: 'Compare the distributions of a score, and its differences row by row',
    tags,
    body: ScoresBody,
    answer: ScoresAnswer,
    refusals: ['invalid_value', 'too_many_ids', 'query_too_slow'],
    rule: ({ db, signal }, { caller, body }) => viewScores(db, caller, body, signal),
  }),
  operation('POST', '/views/rank', {
    summary: 'Find the rank of a row in an order',
    tags,
    body: RankBody,
    answer: RankAnswer,
    refusals: ['invalid_value', 'too_many_ids', 'query_too_slow'],
    rule: ({ db, signal }, { caller, body }) => rankRow(db, caller, body, signal),
  }),
)
