import { allOf, type Sql, sql } from '../sql/sql.ts'
import type { Command, Reader } from '../transaction.ts'

export interface UsageDay {
  user_name: string
  /** In UTC: 2026-11-22. */
  day: string
  requests: number
  /** Of these, those that were refused because of a limit of the user. */
  refused: number
  prompt_tokens: number
  completion_tokens: number
}

/** Adds to the stored counts. */
export const addUsage: Command<readonly UsageDay[], void> = async (tx, days) => {
  for (const { user_name, day, requests, refused, prompt_tokens, completion_tokens } of days) {
    await tx.run(
      sql`INSERT INTO usage_days (user_name, day, requests, refused, prompt_tokens, completion_tokens)
          VALUES (${user_name}, ${day}, ${requests}, ${refused}, ${prompt_tokens}, ${completion_tokens})
          ON CONFLICT (user_name, day) DO UPDATE SET
            requests = usage_days.requests + excluded.requests,
            refused = usage_days.refused + excluded.refused,
            prompt_tokens = usage_days.prompt_tokens + excluded.prompt_tokens,
            completion_tokens = usage_days.completion_tokens + excluded.completion_tokens`,
    )
  }
}

interface UsageView {
  /** All users if absent. */
  user?: string | undefined
  /** Days, inclusive. */
  from?: string | undefined
  to?: string | undefined
  limit: number
  offset: number
}

/** Latest day first. */
export function readUsage(db: Reader, { user, from, to, limit, offset }: UsageView): Promise<UsageDay[]> {
  const conditions: Sql[] = []
  if (user !== undefined) conditions.push(sql`user_name = ${user}`)
  if (from !== undefined) conditions.push(sql`day >= ${from}`)
  if (to !== undefined) conditions.push(sql`day <= ${to}`)
  return db.all<UsageDay>(
    sql`SELECT user_name, day, requests, refused, prompt_tokens, completion_tokens FROM usage_days
        WHERE ${allOf(conditions)} ORDER BY day DESC, user_name LIMIT ${limit} OFFSET ${offset}`,
  )
}
