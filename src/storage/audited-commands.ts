import * as endpoints from './alerts/endpoints.ts'
import * as rules from './alerts/rules.ts'
import * as responses from './answers/responses.ts'
import * as callWrites from './calls/writes.ts'
import * as erasures from './erasures/progress.ts'
import * as runs from './evaluations/runs.ts'
import * as feedback from './feedback/writes.ts'
import * as budgets from './limits/budgets.ts'
import * as monitors from './monitors/monitors.ts'
import * as gates from './objects/label-gates.ts'
import { deleteObjects } from './objects/object-deletion.ts'
import * as shadows from './objects/shadow-settings.ts'
import * as prices from './prices.ts'
import * as deletion from './projects/deletion.ts'
import * as projects from './projects/projects.ts'
import * as queues from './queues/queues.ts'
import { deleteQueueRule } from './queues/rules.ts'
import * as passes from './redaction/passes.ts'
import { audited, noteDeed } from './users/audit.ts'
import { signUp } from './users/identities.ts'
import * as invitations from './users/invitations.ts'
import { endProviderSessions } from './users/page-sessions.ts'
import { removeUser } from './users/removal.ts'
import * as settings from './users/settings.ts'
import * as users from './users/users.ts'

interface Named {
  project_id: string
  ids: readonly string[]
}

/** When several are removed, the audit log has their number. */
const removal =
  (action: string) =>
  ({ project_id, ids }: Named) => ({ action, project_id, count: ids.length })

const ofUser = (action: string, user: string, details: object = {}) => ({
  action,
  details: { user, ...details },
})

const accessOf = ({ role, entities, grants }: users.User) => (grants ? { grants } : { role, entities })

/** The writes that are recorded in the audit log. */
export const auditedCommands = {
  noteDeed,
  deleteCalls: audited(callWrites.deleteCalls, (input, { descendants }) => ({
    ...removal('calls.delete')(input),
    details: { descendants },
  })),
  deleteEvaluationRuns: audited(runs.deleteEvaluationRuns, removal('evaluation_runs.delete')),
  deletePredictions: audited(runs.deletePredictions, removal('predictions.delete')),
  deleteScores: audited(runs.deleteScores, removal('scores.delete')),
  removeFeedback: audited(feedback.removeFeedback, removal('feedback.purge')),
  removePrices: audited(prices.removePrices, removal('prices.purge')),
  addBudget: audited(budgets.addBudget, ({ budget }, outcome) =>
    outcome === 'added' ? { action: 'budget.add', details: { ...budget } } : undefined,
  ),
  changeBudget: audited(
    budgets.changeBudget,
    ({ id, amount, warn_at, block_unpriced, prices_of }, changed) =>
      changed
        ? { action: 'budget.set', details: { budget: id, amount, warn_at, block_unpriced, prices_of } }
        : undefined,
  ),
  deleteBudget: audited(budgets.deleteBudget, ({ id }, deleted) =>
    deleted ? { action: 'budget.delete', details: { budget: id } } : undefined,
  ),
  deleteObjects: audited(deleteObjects, ({ project_id, object_id }, answer) =>
    'deleted' in answer
      ? { action: 'objects.delete', project_id, count: answer.deleted, details: { object: object_id } }
      : undefined,
  ),
  setGate: audited(gates.setGate, ({ project_id, object_id, alias, gate }) => ({
    action: gate === null ? 'gate.remove' : 'gate.set',
    project_id,
    details: { object: object_id, label: alias, ...(gate !== null && { gate: JSON.parse(gate) as unknown }) },
  })),
  moveLabel: audited(gates.moveLabel, ({ project_id, object_id, alias, way, reason, run, share }, moved) =>
    'to' in moved
      ? {
          action: `label.${way}`,
          project_id,
          details: {
            object: object_id,
            label: alias,
            ...moved,
            ...(reason && { reason }),
            ...(run && { run }),
            ...(share && { share }),
          },
        }
      : undefined,
  ),
  setShadow: audited(
    shadows.setShadow,
    ({ project_id, object_id, alias, digest, share, min_pairs, scorer, field }, answer) =>
      answer === 'set'
        ? {
            action: 'shadow.set',
            project_id,
            details: { object: object_id, label: alias, version: digest, share, min_pairs, scorer, field },
          }
        : undefined,
  ),
  removeShadow: audited(shadows.removeShadow, ({ project_id, object_id, alias }, removed) =>
    removed
      ? { action: 'shadow.remove', project_id, details: { object: object_id, label: alias } }
      : undefined,
  ),
  deleteQueue: audited(queues.deleteQueue, ({ project_id }, { id }) => ({
    action: 'queues.delete',
    project_id,
    count: 1,
    details: { queue: id },
  })),
  deleteQueueRule: audited(deleteQueueRule, ({ project_id }, { id, queue_id }) => ({
    action: 'queue_rules.delete',
    project_id,
    count: 1,
    details: { queue: queue_id, rule: id },
  })),
  deleteMonitor: audited(monitors.deleteMonitor, ({ project_id }, { id }) => ({
    action: 'monitors.delete',
    project_id,
    count: 1,
    details: { monitor: id },
  })),
  deleteAlertRule: audited(rules.deleteAlertRule, ({ project_id }, { id }) => ({
    action: 'alert_rules.delete',
    project_id,
    count: 1,
    details: { rule: id },
  })),
  deleteEndpoint: audited(endpoints.deleteEndpoint, ({ project_id }, { id }) => ({
    action: 'alert_endpoints.delete',
    project_id,
    count: 1,
    details: { endpoint: id },
  })),
  deleteResponse: audited(responses.deleteResponse, ({ id }, deleted) =>
    deleted ? { action: 'responses.delete', count: 1, details: { response: id } } : undefined,
  ),
  changeProjectSettings: audited(projects.changeProjectSettings, ({ project_id, change }) => ({
    action: 'project.set',
    project_id,
    details: { change },
  })),
  beginRedactionPass: audited(passes.beginRedactionPass, ({ project_id }) => ({
    action: 'redaction.apply',
    project_id,
    details: {},
  })),
  beginProjectDeletion: audited(deletion.beginProjectDeletion, ({ project_id }, begun) =>
    begun ? { action: 'project.delete', project_id } : undefined,
  ),
  beginErasure: audited(erasures.beginErasure, ({ project_id, kind, hash }, { id, isContinued }) => ({
    action: isContinued ? 'erasure.continue' : 'erasure.begin',
    project_id,
    details: { erasure: id, subject: { kind, hash } },
  })),
  endErasure: audited(erasures.endErasure, ({ project_id, id, kind, hash, receipt }, ended) => ({
    action: 'erasure.end',
    project_id,
    count: ended.erased.calls,
    details: { erasure: id, subject: { kind, hash }, ...ended, ...receipt },
  })),
  addUser: audited(users.addUser, ({ user, key }, added) =>
    added ? ofUser('user.add', user.name, { ...accessOf(user), key: key.id }) : undefined,
  ),
  addFirstUser: audited(users.addFirstUser, ({ user, key }, added) =>
    added ? ofUser('user.add', user.name, { ...accessOf(user), key: key.id }) : undefined,
  ),
  signUp: audited(signUp, ({ identity, user }, name) =>
    name === undefined ? undefined : ofUser('user.add', name, { grants: user.grants, ...identity }),
  ),
  endProviderSessions: audited(endProviderSessions, ({ issuer, sid, subject }, ended) =>
    ended ? { action: 'session.end', count: ended, details: { issuer, sid, subject } } : undefined,
  ),
  removeUser: audited(removeUser, ({ name }, removed) => (removed ? ofUser('user.remove', name) : undefined)),
  setGrants: audited(users.setGrants, ({ name, grants }, answer) =>
    answer.result === 'set' ? ofUser('user.grants', name, { before: answer.before, grants }) : undefined,
  ),
  addInvitation: audited(invitations.addInvitation, ({ id, grants, note, expires_at }, added) =>
    added ? { action: 'invitation.add', details: { invitation: id, grants, note, expires_at } } : undefined,
  ),
  withdrawInvitation: audited(invitations.withdrawInvitation, ({ id }, withdrawn) =>
    withdrawn ? { action: 'invitation.withdraw', details: { invitation: id } } : undefined,
  ),
  acceptInvitation: audited(invitations.acceptInvitation, ({ name, key }, answer) =>
    answer.result === 'accepted'
      ? ofUser('user.add', name, {
          grants: answer.invitation.grants,
          key: key.id,
          invitation: answer.invitation.id,
        })
      : undefined,
  ),
  rotateKey: audited(users.rotateKey, ({ id, next, until }, rotated) =>
    rotated ? { action: 'key.rotate', details: { key: id, next: next.id, until } } : undefined,
  ),
  changeUserSettings: audited(settings.changeUserSettings, ({ name, change }, changed) =>
    changed ? ofUser('user.set', name, { change }) : undefined,
  ),
  addKey: audited(users.addKey, ({ user, id, settings }, added) =>
    added ? ofUser('key.add', user, { key: id, ...settings }) : undefined,
  ),
  changeKeySettings: audited(users.changeKeySettings, ({ id, change }, changed) =>
    changed ? { action: 'key.set', details: { key: id, change } } : undefined,
  ),
  revokeKey: audited(users.revokeKey, ({ id }, revoked) =>
    revoked ? { action: 'key.revoke', details: { key: id } } : undefined,
  ),
}
