import { deleteCalls, sweepCalls, upsertCalls } from './calls.ts'
import { addPrices, removePrices } from './prices.ts'
import { probe } from './probe.ts'
import { addFirstUser, addKey, addUser, removeUser, revokeKey } from './users.ts'

/** Every write there is, by the name that crosses to the thread of the writer. */
export const commands = {
  upsertCalls,
  deleteCalls,
  sweepCalls,
  addPrices,
  removePrices,
  addUser,
  addFirstUser,
  removeUser,
  addKey,
  revokeKey,
  probe,
}

export type Commands = typeof commands
