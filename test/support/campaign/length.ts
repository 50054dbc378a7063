/**
 * The length and the seed of the campaign. `npm run test:attack` runs it long, all other scripts in a short form;
 * settings in the environment apply to both.
 */
const isLong = process.env.npm_lifecycle_event === 'test:attack'

function setting(name: string, short: number, long: number): number {
  const given = process.env[name]
  if (given === undefined || given === '') return isLong ? long : short
  if (!/^\d+$/.test(given)) throw new Error(`${name} is ${JSON.stringify(given)}; accepted: a whole number`)
  return Number(given)
}

const fresh = Math.floor(Math.random() * 2 ** 31)

export const campaign = {
  /**
   * Printed by every test of the campaign, so that a run can be repeated. The short form always uses the same seed: if it
   * fails, a change broke something. Finding new faults is the task of the long form.
   */
  seed: setting('HEDDLE_ATTACK_SEED', 20_261_122, fresh),
  /** Generated requests, over all routes. */
  bodies: setting('HEDDLE_ATTACK_BODIES', 1_200, 15_000),
  /** Generated credentials, each sent to a route. */
  credentials: setting('HEDDLE_ATTACK_CREDENTIALS', 1_000, 10_000),
  /** Names of one tenant in requests of another. */
  names: setting('HEDDLE_ATTACK_NAMES', 1_500, 30_000),
  /** Clients that are slow, disconnect, or do not read. */
  clients: setting('HEDDLE_ATTACK_CLIENTS', 60, 1_000),
  /** Faults of the disk, the database and the process, of each kind. */
  faults: setting('HEDDLE_ATTACK_FAULTS', 1, 8),
}
