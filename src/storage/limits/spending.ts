import { currentlySpent } from '../../domain/rates.ts'
import { sql } from '../sql/sql.ts'
import type { Command } from '../transaction.ts'

/** Of requests or tokens. */
interface Spent {
  /** Since the last report. */
  more: number
  /** Null if there is no limit. */
  perMinute: number | null
}

/** What a server reports about a user with limits. */
export interface UserSpending {
  user: string
  requests: Spent
  tokens: Spent
  running: number
}

/** What all servers together know about the user. */
export interface SharedSpending {
  user: string
  requests: number
  tokens: number
  /** Requests that other servers are answering. */
  elsewhere: number
}

interface ShareSpending {
  holder: string
  users: readonly UserSpending[]
  /** Microseconds. */
  now: number
}

/** A server that has not reported for this long counts as having no requests. */
const heardOfFor = 3_000_000
/** After this its rows are removed. */
const forgottenAfter = 3_600_000_000

/** Adds what this server has counted to the shared totals. */
export const shareSpending: Command<ShareSpending, SharedSpending[]> = async (tx, { holder, users, now }) => {
  const shared: SharedSpending[] = []
  for (const spender of users.toSorted((a, b) => (a.user < b.user ? -1 : 1))) {
    const { user, running } = spender
    await tx.lock(`spending ${user}`)
    const row = await tx.get<{ requests: number; tokens: number; at: number }>(
      sql`SELECT requests, tokens, at FROM spending WHERE user_name = ${user}`,
    )
    // The clocks of machines differ: a server with a slower clock must not undo what another has just counted.
    const at = Math.max(now, row?.at ?? 0)
    const amountOf = (before: number | undefined, { more, perMinute }: Spent) => {
      if (perMinute === null) return 0
      const since = { amount: before ?? 0, perMinute, at: (row?.at ?? at) / 1_000 }
      return currentlySpent(since, perMinute, at / 1_000) + more
    }
    const requests = amountOf(row?.requests, spender.requests)
    const tokens = amountOf(row?.tokens, spender.tokens)
    await tx.run(
      sql`INSERT INTO spending (user_name, requests, tokens, at) VALUES (${user}, ${requests}, ${tokens}, ${at})
          ON CONFLICT (user_name) DO UPDATE SET requests = excluded.requests, tokens = excluded.tokens, at = excluded.at`,
    )
    await tx.run(
      running === 0
        ? sql`DELETE FROM spending_running WHERE user_name = ${user} AND (holder = ${holder} OR seen_at < ${now - forgottenAfter})`
        : sql`INSERT INTO spending_running (user_name, holder, running, seen_at) VALUES (${user}, ${holder}, ${running}, ${now})
              ON CONFLICT (user_name, holder) DO UPDATE SET running = excluded.running, seen_at = excluded.seen_at`,
    )
    const others = await tx.get<{ running: number | null }>(
      sql`SELECT sum(running) AS running FROM spending_running
          WHERE user_name = ${user} AND holder <> ${holder} AND seen_at > ${now - heardOfFor}`,
    )
    shared.push({ user, requests, tokens, elsewhere: others?.running ?? 0 })
  }
  return shared
}
