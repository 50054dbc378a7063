import { compareClocks } from '../../../domain/clock.ts'
import { type Sql, sql } from '../../sql/sql.ts'

const betweenMs = 10_000

interface FollowedClock {
  stop(): Promise<void>
}

/** Follows the clock of the database server. The first reading must succeed. */
export async function followClock(get: <T>(query: Sql) => Promise<T | undefined>): Promise<FollowedClock> {
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> = Promise.resolve()
  let isOver = false

  async function look(): Promise<void> {
    const asked = performance.now()
    const row = await get<{ at: number }>(
      sql`SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS DOUBLE PRECISION) AS at`,
    )
    if (row !== undefined) compareClocks(row.at, asked, performance.now())
  }

  function plan(): void {
    if (isOver) return
    timer = setTimeout(() => {
      // If the server is unreachable, the work that needs it reports that; the clock keeps its last offset meanwhile.
      looking = look()
        .catch(() => undefined)
        .then(plan)
    }, betweenMs)
    timer.unref()
  }

  await look()
  plan()
  return {
    stop() {
      isOver = true
      clearTimeout(timer)
      return looking
    },
  }
}
