import { family, operationsUnder } from '../parts.ts'
import { ShadowAnswer, ShadowBody } from '../shadows/contract.ts'
import { removeShadowOf, setShadowOf, shadowOf } from '../shadows/shadows.ts'
import { GateBody, InProject, LabelAnswer, LabelPath, MoveAnswer, MoveBody } from './contract.ts'
import { labelOf, moveLabelOf, setGateOf } from './labels.ts'

const label = '/objs/:object_id/aliases/:alias'
const operation = operationsUnder('objects')

export const labelRoutes = family(
  operation('GET', `${label}/gate`, {
    right: 'read',
    summary: 'Read what an alias names, its gate, and what it named before',
    params: LabelPath,
    querystring: InProject,
    answer: LabelAnswer,
    rule: ({ db }, { caller, params, query }) => labelOf(db, caller, query.project_id, params),
  }),
  operation('PUT', `${label}/gate`, {
    right: 'administer',
    summary: 'Have an alias move only through a gate',
    params: LabelPath,
    body: GateBody,
    answer: LabelAnswer,
    refusals: ['role_forbidden', 'invalid_value', 'object_not_found'],
    rule: ({ db }, { caller, params, body }) => setGateOf(db, caller, params, body),
  }),
  operation('DELETE', `${label}/gate`, {
    right: 'administer',
    summary: 'Remove the gate of an alias',
    params: LabelPath,
    querystring: InProject,
    answer: LabelAnswer,
    refusals: ['role_forbidden', 'invalid_value', 'object_not_found'],
    rule: ({ db }, { caller, params, query }) =>
      setGateOf(db, caller, params, { project_id: query.project_id, gate: null }),
  }),
  operation('POST', `${label}/move`, {
    right: 'write',
    summary: 'Move an alias to a version: through its gate, in spite of it, or back',
    params: LabelPath,
    body: MoveBody,
    answer: MoveAnswer,
    refusals: [
      'role_forbidden',
      'scope_forbidden',
      'invalid_value',
      'object_not_found',
      'gate_not_passed',
      'label_moved',
      'query_too_slow',
    ],
    rule: ({ db }, { caller, params, body }) => moveLabelOf(db, caller, params, body),
  }),
  operation('GET', `${label}/shadow`, {
    right: 'read',
    summary: 'Read which version is asked besides that of an alias, and which is better',
    params: LabelPath,
    querystring: InProject,
    answer: ShadowAnswer,
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, params, query }) => shadowOf(db, caller, { ...params, ...query }),
  }),
  operation('PUT', `${label}/shadow`, {
    right: 'write',
    summary: 'Ask another version what an alias is asked, without its answers reaching clients',
    params: LabelPath,
    body: ShadowBody,
    answer: ShadowAnswer,
    refusals: [
      'role_forbidden',
      'scope_forbidden',
      'invalid_value',
      'object_not_found',
      'prompt_unusable',
      'scorer_not_runnable',
      'label_moved',
      'query_too_slow',
    ],
    async rule(services, { caller, params, body }) {
      await setShadowOf(services, caller, params, body)
      return shadowOf(services.db, caller, { ...params, project_id: body.project_id })
    },
  }),
  operation('DELETE', `${label}/shadow`, {
    right: 'write',
    summary: 'Stop asking another version besides that of an alias',
    params: LabelPath,
    querystring: InProject,
    answer: ShadowAnswer,
    refusals: ['role_forbidden', 'query_too_slow'],
    async rule({ db }, { caller, params, query }) {
      await removeShadowOf(db, caller, { ...params, ...query })
      return shadowOf(db, caller, { ...params, ...query })
    },
  }),
)
