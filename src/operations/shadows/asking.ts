import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../domain/ids.ts'
import { now } from '../../domain/time.ts'
import { findShadow, type LabelShadow, type ShadowKey } from '../../storage/objects/label-shadows.ts'
import { type PairOutcome, shadowsAtWork, type TakenPair } from '../../storage/objects/shadow-pairs.ts'
import { hasReplaced } from '../../storage/objects/shadow-settings.ts'
import { type BackgroundWork, inBackground } from '../background.ts'
import { mayStillAct, withoutLimits } from '../background-caller.ts'
import { afterRefusal } from '../monitors/judging.ts'
import type { OperationParts } from '../parts.ts'
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

  return inBackground({
    firstMs: idleMs,
    failedMs,
    failed,
    async run(signal) {
      let isBusy = await hasReplaced(db)
      if (isBusy) await db.write('dropShadows', { limit: dropped })
      // Another process may have a model.
      if (services.models.all.length === 0) return isBusy ? 0 : idleMs
      for (const key of await shadowsAtWork(db, now())) {
        if (signal.aborted) break
        if (await turn(key, signal)) isBusy = true
      }
      return isBusy ? 0 : idleMs
    },
  })

  /** Returns whether there was something to do. */
  async function turn(key: ShadowKey, signal: AbortSignal): Promise<boolean> {
    const shadow = await findShadow(db, key)
    // The pairs of one that was replaced are removed.
    if (shadow === undefined || !(await mayStillAct(own, shadow.user_id, key.project_id))) return false
    const time = now()
    const holding = { ...key, holder, until: time + leaseMs * 1000 }
    const taken = await db.write('takeShadowPairs', { ...holding, limit: atOnce, now: time })
    if (taken.length > 0) await whileHeld(key, () => askAll(shadow, taken, signal))
    return taken.length > 0
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

  /** Renews what this process holds of the shadow while it is at work. */
  async function whileHeld(key: ShadowKey, work: () => Promise<void>): Promise<void> {
    const ended = new AbortController()
    const renewing = (async () => {
      while (!ended.signal.aborted) {
        await sleep(renewMs, undefined, { signal: ended.signal, ref: false })
        await db.write('holdShadowPairs', { ...key, holder, until: now() + leaseMs * 1000 })
      }
    })().catch((error: unknown) => {
      // Another process may take the pairs: they are asked again, and counted once.
      if (!ended.signal.aborted) failed(error)
    })
    try {
      await work()
    } finally {
      ended.abort()
      await renewing
    }
  }
}
