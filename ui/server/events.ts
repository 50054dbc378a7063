import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { RecordEvent } from '../../src/operations/events/contract.ts'
import { eventTexts, request } from './request.ts'
import { may } from './rights.ts'
import { isSignedIn, successor } from './session-half.ts'

/** An event, or `resync` where it is not known what has changed and everything shown has to be read again. */
export type LiveEvent = RecordEvent | 'resync'

/** Whether events arrive. */
export const eventStreamState = signal<'not yet' | 'yes' | 'no'>('not yet')

/** Pauses before a broken stream is opened again, longer each time. */
const pausesMs = [250, 500, 1_000, 2_000, 4_000]

type TabMessage =
  | { kind: 'heard'; id: string; heard: LiveEvent }
  | { kind: 'state'; state: 'yes' | 'no' }
  | { kind: 'state?' }

const channel = new BroadcastChannel('heddle.events')
const listeners = new Set<(heard: LiveEvent) => void>()
let isLeader = false
/** Id of the last event that any tab received: the tab that opens the stream next resumes after it. */
let last: string | undefined

/** Calls `listener` for each change of the record, received by this tab or another. */
export function followEvents(listener: (heard: LiveEvent) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** A list hears of changes while it is shown. */
export function useHearing(list: { hear(heard: LiveEvent): void; close(): void }): void {
  useEffect(() => {
    const unfollow = followEvents(list.hear)
    return () => {
      unfollow()
      list.close()
    }
  }, [list])
}

function deliver(id: string, heard: LiveEvent): void {
  last = id
  for (const listener of listeners) listener(heard)
}

channel.addEventListener('message', ({ data }: MessageEvent<TabMessage>) => {
  if (data.kind === 'heard') deliver(data.id, data.heard)
  else if (data.kind === 'state') eventStreamState.value = data.state
  else if (isLeader && eventStreamState.value !== 'not yet')
    broadcast({ kind: 'state', state: eventStreamState.value })
})

const broadcast = (word: TabMessage) => channel.postMessage(word)

function setState(state: 'yes' | 'no'): void {
  eventStreamState.value = state
  broadcast({ kind: 'state', state })
}

/**
 * A browser opens six connections to a host, so one tab holds the stream and tells the others. When that tab is closed, the
 * lock passes to another. Over plain http from another host there are no locks, so each visible tab holds a stream.
 */
export function openEvents(): void {
  let ending: AbortController | undefined
  const begin = () => {
    if (ending !== undefined) return
    const own = new AbortController()
    ending = own
    const { signal } = own
    if ('locks' in navigator) {
      broadcast({ kind: 'state?' })
      navigator.locks.request('heddle.events', { signal }, () => lead(signal)).catch(() => undefined)
    } else void lead(signal)
  }
  const end = () => {
    ending?.abort()
    ending = undefined
    eventStreamState.value = 'not yet'
    last = undefined
  }
  const isWanted = () =>
    isSignedIn.value === true &&
    successor.value === undefined &&
    may('read') &&
    ('locks' in navigator || document.visibilityState === 'visible')
  const look = () => (isWanted() ? begin() : end())
  effect(look)
  if (!('locks' in navigator)) document.addEventListener('visibilitychange', look)
}

/** Holds the stream until sign-out, and opens it again whenever it breaks. */
async function lead(signal: AbortSignal): Promise<void> {
  isLeader = true
  let failures = 0
  while (!signal.aborted) {
    try {
      for await (const { name, id, data } of streamEvents(signal)) {
        failures = 0
        if (name === 'end' || id === undefined) break
        if (name === 'open') {
          last = id
          setState('yes')
        } else deliverToAllTabs(id, name === 'resync' ? 'resync' : (JSON.parse(data) as RecordEvent))
      }
    } catch {
      // Whatever the reason: the stream is opened again, or the end of the session ends the loop.
    }
    if (signal.aborted) break
    setState('no')
    const pause = pausesMs[Math.min(failures++, pausesMs.length - 1)] as number
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
  isLeader = false
}

function deliverToAllTabs(id: string, heard: LiveEvent): void {
  deliver(id, heard)
  broadcast({ kind: 'heard', id, heard })
}

async function* streamEvents(signal: AbortSignal) {
  const headers: Record<string, string> = last === undefined ? {} : { 'last-event-id': last }
  for await (const event of eventTexts(await request('/views/events', { signal, headers }))) {
    const fields = new Map(event.split('\n').map((line) => line.split(/: ?(.*)/, 2) as [string, string]))
    const [name, id, data] = [fields.get('event'), fields.get('id'), fields.get('data')]
    if (name !== undefined && data !== undefined) yield { name, id, data }
  }
}
