import { family, operationsUnder } from '../parts.ts'
import { InProject, QueuePath } from './contract.ts'
import * as contract from './rule-contract.ts'
import { createRule, deleteRule, readRules, updateRule } from './rules.ts'

const operation = operationsUnder('annotation queues')
const notFound = 'annotation_queue_not_found'

export const queueRuleRoutes = family(
  operation('POST', '/annotation_queues/:queue_id/rules', {
    right: 'write',
    summary: 'Create a rule that adds calls to an annotation queue as they end',
    params: QueuePath,
    body: contract.CreateRuleBody,
    answer: contract.CreateRuleAnswer,
    refusals: [notFound, 'invalid_value', 'too_many_queue_rules'],
    rule: ({ db }, { caller, body, params }) => createRule(db, caller, params.queue_id, body),
  }),
  operation('GET', '/annotation_queues/:queue_id/rules', {
    right: 'read',
    summary: 'List the rules of an annotation queue',
    params: QueuePath,
    querystring: InProject,
    answer: contract.RulesAnswer,
    refusals: [notFound],
    rule: ({ db }, { caller, params, query }) => readRules(db, caller, { ...params, ...query }),
  }),
  operation('PUT', '/annotation_queues/:queue_id/rules/:rule_id', {
    right: 'write',
    summary: 'Pause or resume a rule of an annotation queue',
    params: contract.RulePath,
    body: contract.UpdateRuleBody,
    answer: contract.RuleAnswer,
    refusals: [notFound, 'queue_rule_not_found'],
    rule: ({ db }, { caller, body, params }) => updateRule(db, caller, params, body),
  }),
  operation('DELETE', '/annotation_queues/:queue_id/rules/:rule_id', {
    right: 'write',
    summary: 'Delete a rule of an annotation queue; its items are kept',
    params: contract.RulePath,
    querystring: InProject,
    answer: contract.RuleAnswer,
    refusals: [notFound, 'queue_rule_not_found'],
    rule: ({ db }, { caller, params, query }) => deleteRule(db, caller, { ...params, ...query }),
  }),
)
