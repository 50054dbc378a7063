import { refuse } from '../../domain/refusals.ts'
import { stopAlertEndpoint } from '../alerts/deliveries.ts'
import type { EndpointKey } from '../alerts/endpoints.ts'
import { countChange } from '../alerts/versions.ts'
import { stopMonitorsOf } from '../monitors/monitors.ts'
import { endShadow } from '../objects/label-shadows.ts'
import { sql } from '../sql/sql.ts'
import type { Command, Transaction } from '../transaction.ts'
import { nobody } from '../views/saved-views.ts'
import { isLastAdmin, userNamed } from './users.ts'

interface RemovedUser {
  name: string
  now: number
  /** A user of this name is also in HEDDLE_USERS, and stays. */
  isConfigured: boolean
  /** Refused if nobody else in the record may operate the server. */
  lastAdminStays?: boolean
}

/**
 * Also removes its keys, identities and settings, expires its answers, and ends what goes on in its name: a later user
 * of the same name has nothing of it. False if there is no such user.
 */
export const removeUser: Command<RemovedUser, boolean> = async (tx, removed) => {
  const { name, now, isConfigured, lastAdminStays = false } = removed
  await tx.lock('admins')
  const user = lastAdminStays ? await userNamed(tx, name) : undefined
  if (user !== undefined && (await isLastAdmin(tx, user))) throw refuse('last_admin', { name })
  if ((await tx.run(sql`DELETE FROM users WHERE name = ${name}`)) === 0) return false
  await tx.run(sql`DELETE FROM user_settings WHERE user_name = ${name}`)
  await tx.run(
    sql`DELETE FROM page_sessions WHERE (issuer, subject) IN (SELECT issuer, subject FROM identities WHERE user_name = ${name})`,
  )
  await tx.run(sql`DELETE FROM identities WHERE user_name = ${name}`)
  await expireStored(tx, name)
  if (!isConfigured) await endWork(tx, name, now)
  return true
}

async function expireStored(tx: Transaction, name: string): Promise<void> {
  await tx.run(sql`UPDATE responses SET expire_at = 0 WHERE user_name = ${name}`)
  await tx.run(
    sql`UPDATE waiting_responses SET expire_at = 0, ended_at = 0, held_by = NULL WHERE user_name = ${name}`,
  )
  await tx.run(sql`UPDATE conversations SET expire_at = 0 WHERE user_name = ${name}`)
  await tx.run(sql`UPDATE wire_files SET expires_at = 0 WHERE user_name = ${name}`)
  await tx.run(sql`UPDATE batches SET expires_at = 0 WHERE user_name = ${name}`)
}

/** What goes on in the name of the user: nobody answers for it any more. */
async function endWork(tx: Transaction, user: string, now: number): Promise<void> {
  const why = `the user ${user} was removed`
  await stopMonitorsOf(tx, { user, now })
  const shadows = sql`SELECT project_id, id FROM label_shadows WHERE user_id = ${user} AND ended_at IS NULL ORDER BY project_id, id`
  for (const shadow of await tx.all<{ project_id: string; id: string }>(shadows))
    await endShadow(tx, shadow, { why, now })
  const endpoints = sql`SELECT project_id, id AS endpoint_id FROM alert_endpoints WHERE runs_as = ${user} AND active = 1 ORDER BY project_id, id`
  for (const endpoint of await tx.all<EndpointKey>(endpoints)) {
    await countChange(tx, endpoint.project_id)
    await stopAlertEndpoint(tx, { ...endpoint, why, now })
  }
  await tx.run(sql`UPDATE served_runs SET stopped = 1 WHERE runs_as = ${user}`)
  await tx.run(sql`DELETE FROM saved_views WHERE user_id = ${user} AND is_shared = 0`)
  await tx.run(sql`UPDATE saved_views SET user_id = ${nobody} WHERE user_id = ${user}`)
  await tx.run(sql`DELETE FROM invitations WHERE created_by = ${user} AND accepted_at IS NULL`)
}
