import { family, operationsUnder } from '../parts.ts'
import * as contract from './contract.ts'
import {
  createEndpoint,
  deleteOneEndpoint,
  listEvents,
  readEndpoints,
  replay,
  rotateSecret,
  sendTest,
  updateEndpoint,
} from './endpoints.ts'
import { createRule, deleteRule, readRules, updateRule } from './rules.ts'
import { tryRule } from './trial.ts'

const operation = operationsUnder('alerts')
const tooMany = 'too_many_alert_things'
const noRule = 'alert_rule_not_found'
const noQueue = 'annotation_queue_not_found'
const noEndpoint = 'alert_endpoint_not_found'

export const alertRoutes = family(
  operation('POST', '/alert_rules', {
    right: 'write',
    summary:
      'Create a rule that sends messages about calls, scores, decisions, queues, budgets or figures of a window',
    body: contract.CreateRuleBody,
    answer: contract.RuleAnswer,
    refusals: ['invalid_value', tooMany, noQueue],
    rule: ({ db }, { caller, body }) => createRule(db, caller, body),
  }),
  operation('GET', '/alert_rules', {
    right: 'read',
    summary: 'List the alert rules of a project',
    querystring: contract.InProject,
    answer: contract.RulesAnswer,
    rule: ({ db }, { caller, query }) => readRules(db, caller, query.project_id),
  }),
  operation('POST', '/alert_rules/try', {
    right: 'read',
    summary: 'Say what an alert rule would have sent in the last day',
    body: contract.TryRuleBody,
    answer: contract.TryAnswer,
    refusals: ['invalid_value', 'query_too_slow', noQueue],
    rule: (services, { caller, body }) => tryRule(services.db, caller, body),
  }),
  operation('PUT', '/alert_rules/:rule_id', {
    right: 'write',
    summary: 'Change, pause or resume an alert rule',
    params: contract.RulePath,
    body: contract.UpdateRuleBody,
    answer: contract.RuleAnswer,
    refusals: [noRule, 'invalid_value', tooMany, noQueue],
    rule: ({ db }, { caller, body, params }) => updateRule(db, caller, params.rule_id, body),
  }),
  operation('DELETE', '/alert_rules/:rule_id', {
    right: 'write',
    summary: 'Delete an alert rule; what it has fired is still delivered',
    params: contract.RulePath,
    querystring: contract.InProject,
    answer: contract.RuleAnswer,
    refusals: [noRule],
    rule: ({ db }, { caller, params, query }) => deleteRule(db, caller, { ...params, ...query }),
  }),
  operation('POST', '/alert_endpoints', {
    right: 'write',
    summary: 'Create an endpoint to which events are sent, and show its secret once',
    body: contract.CreateEndpointBody,
    answer: contract.SecretAnswer,
    refusals: ['scope_forbidden', 'invalid_value', tooMany],
    rule: (services, { caller, body }) => createEndpoint(services, caller, body),
  }),
  operation('GET', '/alert_endpoints', {
    right: 'write',
    summary: 'List the alert endpoints of a project',
    querystring: contract.InProject,
    answer: contract.EndpointsAnswer,
    rule: ({ db }, { caller, query }) => readEndpoints(db, caller, query.project_id),
  }),
  operation('PUT', '/alert_endpoints/:endpoint_id', {
    right: 'write',
    summary: 'Change, pause or resume an alert endpoint',
    params: contract.EndpointPath,
    body: contract.UpdateEndpointBody,
    answer: contract.EndpointAnswer,
    refusals: ['scope_forbidden', noEndpoint, 'invalid_value'],
    rule: (services, { caller, body, params }) => updateEndpoint(services, caller, params.endpoint_id, body),
  }),
  operation('DELETE', '/alert_endpoints/:endpoint_id', {
    right: 'write',
    summary: 'Delete an alert endpoint with its deliveries',
    params: contract.EndpointPath,
    querystring: contract.InProject,
    answer: contract.EndpointAnswer,
    refusals: [noEndpoint],
    rule: ({ db }, { caller, params, query }) => deleteOneEndpoint(db, caller, { ...params, ...query }),
  }),
  operation('POST', '/alert_endpoints/:endpoint_id/rotate', {
    right: 'write',
    summary: 'Give an alert endpoint a new secret; the old one signs as well for a while',
    params: contract.EndpointPath,
    body: contract.RotateBody,
    answer: contract.SecretAnswer,
    refusals: [noEndpoint],
    rule: (services, { caller, body, params }) => rotateSecret(services, caller, params.endpoint_id, body),
  }),
  operation('POST', '/alert_endpoints/:endpoint_id/test', {
    right: 'write',
    summary: 'Send a test event to an alert endpoint',
    params: contract.EndpointPath,
    body: contract.InProject,
    answer: contract.TestAnswer,
    refusals: [noEndpoint, 'invalid_value'],
    rule: ({ db }, { caller, body, params }) => sendTest(db, caller, { ...params, ...body }),
  }),
  operation('POST', '/alert_endpoints/:endpoint_id/replay', {
    right: 'write',
    summary: 'Send events again',
    params: contract.EndpointPath,
    body: contract.ReplayBody,
    answer: contract.ReplayAnswer,
    refusals: [noEndpoint, 'too_many_ids'],
    rule: ({ db }, { caller, body, params }) =>
      replay(db, caller, { ...params, project_id: body.project_id }, body),
  }),
  operation('POST', '/alert_events/query', {
    right: 'read',
    summary: 'List events and their deliveries',
    body: contract.EventsBody,
    answer: contract.EventsAnswer,
    rule: ({ db }, { caller, body }) => listEvents(db, caller, body),
  }),
)
