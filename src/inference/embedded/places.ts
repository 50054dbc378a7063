import { refuse } from '../../domain/refusals.ts'

/**
 * One tenant may have this many times as many requests in the line as there are free places. So one alone fills seven
 * eighths of it, and who comes then still gets in; nothing is set aside that nobody wants, and nobody has to know how many
 * tenants there are (dynamic thresholds, as shared memories of switches have them: Choudhury and Hahne, 1998).
 */
const share = 7

/** Whether there is a place for one more of this tenant beside those that run or wait; refuses otherwise. */
export function checkPlaces(
  taken: readonly { tenant: string | undefined }[],
  tenant: string | undefined,
  { parallel, queue }: { parallel: number; queue: number },
): void {
  const free = parallel + queue - taken.length
  if (free <= 0) throw refuse('engine_queue_full', { limit: queue })
  if (tenant === undefined) return
  const own = taken.filter((one) => one.tenant === tenant).length
  if (own >= parallel + share * free) throw refuse('engine_share_full', { own })
}
