import { costOfTokens, type TokenCount, type TokenPrice } from '../../domain/money.ts'
import { Refusal } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { Database } from '../../storage/database.ts'
import type { Reserved, Settlement } from '../../storage/limits/budgets.ts'
import type { Recording } from '../recording/answer.ts'

/** Settlements of one write. */
const settledAtOnce = 64

/** What an answer may cost of one budget, and the prices by model. */
export interface PricedShare {
  /** Of the window: the answer counts in it even if it ends in the next one. */
  starts_at: number
  amount: number
  prices: ReadonlyMap<string, TokenPrice>
}

/** What is reserved for an answer. It is settled exactly once. */
export interface Hold {
  /** The answer is being read: from now on only its end settles it. */
  begin(): void
  /** The answer has ended, whole or not. With a recording, it is settled together with the call. */
  settle(model: string, tokens: TokenCount, recording: Recording | undefined): void
  /** There will be no answer, unless one has begun. */
  release(): void
}

interface Reservation {
  id: string
  shares: ReadonlyMap<string, PricedShare>
  now: number
  until: number
}

/** What this server has reserved, until the record has what it came to. */
export function createHolds(db: Database) {
  /** Everything that is reserved in the record. */
  const open = new Map<string, Settlement>()
  /** Those that have ended. */
  const settling = new Map<string, PromiseWithResolvers<void>>()
  let unsettled: Settlement[] = []
  let writing: Promise<void> | undefined

  function over(id: string): void {
    open.delete(id)
    settling.get(id)?.resolve()
    settling.delete(id)
  }

  async function write(): Promise<void> {
    while (unsettled.length > 0) {
      const group = unsettled.slice(0, settledAtOnce)
      // What is not settled now is tried again when holds are renewed: settling twice changes nothing.
      await db.write('settleSpend', group)
      unsettled = unsettled.filter((settlement) => !group.includes(settlement))
      for (const { id } of group) over(id)
    }
  }

  function settleUnsettled(): Promise<void> {
    writing ??= write().finally(() => {
      writing = undefined
    })
    return writing
  }

  function settleAlone(settlement: Settlement): void {
    unsettled.push(settlement)
    settleUnsettled().catch(() => undefined)
  }

  function createHold({ id, shares }: Reservation): Hold {
    let state: 'reserved' | 'begun' | 'ended' = 'reserved'

    function end(costOf: (share: PricedShare) => number, recording?: Recording): void {
      state = 'ended'
      settling.set(id, Promise.withResolvers())
      const settlement = settlementOf(id, shares, costOf)
      if (recording === undefined) settleAlone(settlement)
      else {
        recording.settles({
          settlement,
          over: (isSettled) => (isSettled ? over(id) : settleAlone(settlement)),
        })
      }
    }

    return {
      begin() {
        if (state === 'reserved') state = 'begun'
      },
      settle(model, tokens, recording) {
        if (state === 'ended') return
        end(({ prices }) => costOfTokens(tokens, prices.get(model) ?? free), recording)
      },
      release() {
        if (state === 'reserved') end(() => 0)
      },
    }
  }

  return {
    async reserve(reservation: Reservation, tenant: string): Promise<{ reserved: Reserved; hold?: Hold }> {
      const { id, shares, ...times } = reservation
      const settlement = settlementOf(id, shares, ({ amount }) => amount)
      open.set(id, settlement)
      try {
        const reserved = await db.write('reserveSpend', { ...settlement, ...times }, tenant)
        if ('exceeded' in reserved) open.delete(id)
        return { reserved, ...('states' in reserved && { hold: createHold(reservation) }) }
      } catch (error) {
        open.delete(id)
        // It may have been written all the same.
        if (error instanceof Refusal && error.code === 'write_unconfirmed') createHold(reservation).release()
        throw error
      }
    },
    get isSettling() {
      return settling.size > 0
    },
    /** Resolves when everything that has ended by now is settled. */
    async settled(): Promise<void> {
      await Promise.all([...settling.values()].map(({ promise }) => promise))
    },
    async renew(until: number): Promise<void> {
      await settleUnsettled()
      if (open.size > 0) await db.write('renewHolds', { holds: [...open.values()], now: now(), until })
    },
    close: () => settleUnsettled(),
  }
}

const free: TokenPrice = { prompt: 0n, completion: 0n }

function settlementOf(
  id: string,
  shares: Reservation['shares'],
  costOf: (share: PricedShare) => number,
): Settlement {
  const own = [...shares].map(([budget_id, share]) => ({
    budget_id,
    starts_at: share.starts_at,
    amount: costOf(share),
  }))
  return { id, shares: own }
}
