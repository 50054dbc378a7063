import { deleteCalls, sweepCalls, upsertCalls } from './calls.ts'
import { deleteObjects, keepObject } from './objects.ts'
import { addPrices, removePrices } from './prices.ts'
import { probe } from './probe.ts'
import { addCallsToQueue } from './queue-items.ts'
import { setProgress, takeNextItem } from './queue-progress.ts'
import { addQueue, changeQueue, deleteQueue } from './queues.ts'
import { keepTable } from './tables.ts'
import { addFirstUser, addKey, addUser, removeUser, revokeKey } from './users.ts'

/** Every write there is, by the name that crosses to the thread of the writer. */
export const commands = {
  upsertCalls,
  deleteCalls,
  sweepCalls,
  addPrices,
  removePrices,
  keepObject,
  deleteObjects,
  keepTable,
  addQueue,
  changeQueue,
  deleteQueue,
  addCallsToQueue,
  setProgress,
  takeNextItem,
  addUser,
  addFirstUser,
  removeUser,
  addKey,
  revokeKey,
  probe,
}

export type Commands = typeof commands
