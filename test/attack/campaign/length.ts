import { isWhole } from '../../support/campaign-share.ts'

/**
 * The length and the seed of the campaign: one case of each kind in `npm test`, more in the long files, and most of them
 * in `npm run test:attack`. Settings in the environment apply to all.
 */
const isAttack = isWhole && process.env.npm_lifecycle_event === 'test:attack'

function setting(name: string, short: number, long: number, attack: number): number {
  const given = process.env[name]
  if (given === undefined || given === '') return isAttack ? attack : isWhole ? long : short
  if (!/^\d+$/.test(given)) throw new Error(`${name} is ${JSON.stringify(given)}; accepted: a whole number`)
  return Number(given)
}

const usual = 20_261_122
const fresh = Math.floor(Math.random() * 2 ** 31)

export const campaign = {
  /**
   * Printed by every test of the campaign, so that a run can be repeated. The shorter forms always use the same seed: if
   * one fails, a change broke something. Finding new faults is the task of `npm run test:attack`.
   */
  seed: setting('HEDDLE_ATTACK_SEED', usual, usual, fresh),
  /** Generated requests, over all routes. */
  bodies: setting('HEDDLE_ATTACK_BODIES', 200, 1_200, 15_000),
  /** Generated credentials, each sent to a route. */
  credentials: setting('HEDDLE_ATTACK_CREDENTIALS', 200, 1_000, 10_000),
  /** Names of one tenant in requests of another. */
  names: setting('HEDDLE_ATTACK_NAMES', 200, 1_500, 30_000),
  /** Clients that are slow, disconnect, or do not read. */
  clients: setting('HEDDLE_ATTACK_CLIENTS', 12, 60, 1_000),
  /** Faults of the disk, the database and the process, of each kind. */
  faults: setting('HEDDLE_ATTACK_FAULTS', 1, 1, 8),
}
