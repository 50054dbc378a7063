import { type Caller, requireAccess } from '../../domain/callers.ts'
import { refuse } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import { readCall } from '../../storage/tables/calls.ts'
import type { Reader } from '../../storage/transaction.ts'
import type { ReadBody } from './contract.ts'
import { createPricing } from './costs.ts'
import { callRecord } from './record.ts'

export async function readOneCall(db: Reader, caller: Caller, body: ReadBody) {
  requireAccess(caller, body.project_id)
  const row = await readCall(db, body.project_id, body.id, body.include_total_storage_size === true, now())
  if (row === undefined)
    throw refuse('call_not_found', { id: JSON.stringify(body.id), project: JSON.stringify(body.project_id) })
  const costs = body.include_costs ? await createPricing(db, body.project_id)(row) : undefined
  return { call: callRecord(row, { storageSize: body.include_storage_size, costs }) }
}
