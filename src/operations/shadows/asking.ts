import { entityOf } from '../../domain/callers.ts'
import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import { findShadow, type LabelShadow, type ShadowKey } from '../../storage/objects/label-shadows.ts'
import { type PairOutcome, shadowsAtWork, type TakenPair } from '../../storage/objects/shadow-pairs.ts'
import { hasReplaced } from '../../storage/objects/shadow-settings.ts'
import { type BackgroundWork, inBackground, whileHeld } from '../background.ts'
import { mayStillAct, withoutLimits } from '../background-caller.ts'
import { afterRefusal } from '../monitors/judging.ts'
import type { OperationParts } from '../parts.ts'
import { createTurns } from '../turns.ts'
import type { SettledOutcome } from './pair.ts'

/** Of one shadow; then another one is next. */
const atOnce = 4
const idleMs = 250
const failedMs = 5_000
/** A pair whose hold is not renewed for this long is taken by another process. */
const leaseMs = 15_000
const renewMs = 5_000
/** Pairs of replaced shadows that are removed in one write. */
const dropped = 500

/** Asks the shadows of labels what clients have asked, behind all callers. */
export function startShadowing(services: OperationParts, failed: (error: unknown) => void): BackgroundWork {
  const own = withoutLimits(services)
  const { db } = own
  const holder = newId()
  const turns = createTurns({ total: 4, ofName: 1 }, failed)

  return inBackground({
    firstMs: idleMs,
    failedMs,
    failed,
    run: (signal) => turns.carryOn(() => beginTurns(signal), idleMs, signal),
  })

  async function beginTurns(signal: AbortSignal): Promise<boolean> {
    let isBusy = await hasReplaced(db)
    if (isBusy) await db.write('dropShadows', { limit: dropped })
    // Another process may have a model.
    if (services.models.all.length === 0) return isBusy
    for (const key of await shadowsAtWork(db, now())) {
      if (signal.aborted) break
      const name = { owner: entityOf(key.project_id), name: key.shadow_id }
      const turn = turns.mayBegin(name) ? await turnOf(key, signal) : undefined
      if (turn === undefined) continue
      turns.begin(name, turn())
      isBusy = true
    }
    return isBusy
  }

  /** Undefined if there is nothing to do. */
  async function turnOf(key: ShadowKey, signal: AbortSignal): Promise<(() => Promise<void>) | undefined> {
    const shadow = await findShadow(db, key)
    // The pairs of one that was replaced are removed.
    if (shadow === undefined || !(await mayStillAct(own, shadow.user_id, key.project_id))) return undefined
    const time = now()
    const holding = { ...key, holder, until: time + leaseMs * 1000 }
    const taken = await db.write('takeShadowPairs', { ...holding, limit: atOnce, now: time })
    if (taken.length === 0) return undefined
    const renew = () => db.write('holdShadowPairs', { ...key, holder, until: now() + leaseMs * 1000 })
    return () => whileHeld({ everyMs: renewMs, renew, failed }, () => askAll(shadow, taken, signal))
  }

  async function askAll(shadow: LabelShadow, taken: readonly TakenPair[], signal: AbortSignal) {
    const key = { project_id: shadow.project_id, shadow_id: shadow.id }
    await Promise.all(
      taken.map(async (pair) => {
        const settled = await outcomeOf(shadow, pair, signal)
        await db.write('settleShadowPair', {
          ...{ ...key, call_id: pair.call_id, holder, now: now() },
          ...settled,
        })
      }),
    )
  }

  async function outcomeOf(
    shadow: LabelShadow,
    pair: TakenPair,
    signal: AbortSignal,
  ): Promise<SettledOutcome> {
    if (shadow.ended_at !== null) {
      const detail = shadow.why_ended ?? ''
      return { outcome: { state: 'skipped', reason: 'shadow_ended', detail }, calls: [] }
    }
    try {
      const { askPair } = await import('./pair.ts')
      return await askPair({ services: own, shadow, pair }, signal)
    } catch (error) {
      if (signal.aborted) return { outcome: { state: 'waiting', due_at: now(), wasTried: false }, calls: [] }
      const { state, ...after } = afterRefusal(error, pair)
      const outcome: PairOutcome =
        state === 'failed'
          ? { state, reason: after.reason, detail: after.detail }
          : {
              state: 'waiting',
              due_at: 'due_at' in after ? after.due_at : now(),
              wasTried: 'wasTried' in after,
            }
      return { outcome, calls: [] }
    }
  }
}
