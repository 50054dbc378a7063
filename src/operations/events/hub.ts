import { createCipheriv, createDecipheriv, randomBytes, randomFillSync } from 'node:crypto'
import { whenAborted } from '../../../packages/waiting/index.ts'
import type { Model } from '../../inference/model.ts'
import type { Models } from '../../inference/registry.ts'
import { createChangeCollector } from '../../storage/changes.ts'
import type { Database } from '../../storage/database.ts'
import type { RecordEvent } from './contract.ts'

const checkIntervalMs = 1_000

/** Reports the names of models whose state has changed. */
function watchEngine(models: Models, changed: (models: string[]) => void): () => void {
  /** Without load and counts: they change with every answer, whoever asked for it. */
  const stateOf = (model: Model) => {
    const status = model.status()
    const what = status.state === 'starting' ? status.doing : status.state === 'failed' ? status.reason : ''
    return `${status.state} ${what}`
  }
  const statesNow = () => new Map(models.all.map((model) => [model, stateOf(model)]))
  let before = statesNow()
  const timer = setInterval(() => {
    const now = statesNow()
    const changes = [...new Set([...before.keys(), ...now.keys()])].filter(
      (model) => before.get(model) !== now.get(model),
    )
    before = now
    if (changes.length > 0) changed(changes.flatMap((model) => model.served()?.names[0] ?? []))
  }, checkIntervalMs).unref()
  return () => clearInterval(timer)
}

/** Changes within this time are one event for each project and kind. */
const gatherMs = 100
/** Events kept for clients that are behind or reconnect. */
const maxEvents = 1_000
/** A client that reconnects within this time misses nothing. */
const restMs = 60_000

/**
 * An event of a stream: a change, or the notice that changes were missed, after which a client has to read again what
 * it shows.
 */
export type StreamEvent =
  | { name: 'open' | 'resync'; id: string; data: { seq: number } }
  | { name: 'change'; id: string; data: RecordEvent }

type Happened = Omit<RecordEvent, 'seq'> | { kind: 'resync' }

interface FollowOptions {
  /** The id of the last event that the client received, if any. */
  after: string | undefined
  /** Whether the listener may see events of this project. */
  sees(project: string): boolean
  /** Whether the listener may see events of the model of this name. */
  seesModel?(name: string): boolean
  /** Ends the stream, with its reason. */
  signal: AbortSignal
}

/**
 * The events of this server: what writes to the record have changed, sent after their commit. All listeners read from
 * the same short list, each at its own pace, so that a slow one costs nothing; one that is too far behind gets
 * `resync`. Nothing is gathered while there are no listeners.
 */
export function createEventHub(db: Pick<Database, 'watch'>, models: Models) {
  let positions = createPositions()
  let last = 0
  let recent: Happened[] = []
  let news = Promise.withResolvers<void>()
  let gathering: NodeJS.Timeout | undefined
  let resting: NodeJS.Timeout | undefined
  let unwatch: (() => void)[] = []
  let listeners = 0
  let isClosed = false
  const pile = createChangeCollector()

  function keep(events: readonly Happened[]): void {
    recent.push(...events)
    last += events.length
    if (recent.length > maxEvents) recent = recent.slice(-maxEvents)
    news.resolve()
    news = Promise.withResolvers()
  }

  function flush(): void {
    gathering = undefined
    const changes = pile.take()
    if (changes === 'unknown') keep([{ kind: 'resync' }])
    else {
      keep(
        changes.map(({ project, kind, ids, queue }) => ({
          project,
          kind,
          ids: ids && [...ids],
          ...(queue !== undefined && { queue_id: queue }),
        })),
      )
    }
  }

  function begin(): void {
    clearTimeout(resting)
    resting = undefined
    if (unwatch.length > 0) return
    unwatch = [
      db.watch((changes) => {
        pile.add(changes)
        gathering ??= setTimeout(flush, gatherMs).unref()
      }),
      watchEngine(models, (ids) => keep([{ project: null, kind: 'engine', ids }])),
    ]
  }

  /** Changes are missed from now on, so positions in the stream up to here become invalid. */
  function end(): void {
    clearTimeout(resting)
    clearTimeout(gathering)
    gathering = undefined
    for (const stop of unwatch.splice(0)) stop()
    pile.take()
    recent = []
    positions = createPositions()
  }

  /** The position after which to resume; undefined if what follows it is no longer known. */
  function placeOf(id: string): number | undefined {
    const offset = positions.of(id)
    return offset !== undefined && offset <= last && offset >= last - recent.length ? offset : undefined
  }

  async function* follow({
    after,
    sees,
    seesModel = () => true,
    signal,
  }: FollowOptions): AsyncGenerator<StreamEvent> {
    listeners++
    begin()
    try {
      const offset = after === undefined ? last : placeOf(after)
      let at = offset ?? last
      let seq = 0
      const id = () => positions.idOf(at)
      yield { name: 'open', id: id(), data: { seq } }
      if (offset === undefined) yield { name: 'resync', id: id(), data: { seq: ++seq } }
      while (!isClosed) {
        if (at < last - recent.length) {
          at = last
          yield { name: 'resync', id: id(), data: { seq: ++seq } }
        }
        const event = recent[at - (last - recent.length)]
        if (event === undefined) {
          await newsOr(signal)
          continue
        }
        at++
        if (event.kind === 'resync') yield { name: 'resync', id: id(), data: { seq: ++seq } }
        else if (event.project === null) {
          const ids = event.ids?.filter(seesModel)
          if (ids === undefined || ids.length === event.ids?.length)
            yield { name: 'change', id: id(), data: { seq: ++seq, ...event } }
          else if (ids.length > 0) yield { name: 'change', id: id(), data: { seq: ++seq, ...event, ids } }
        } else if (sees(event.project)) yield { name: 'change', id: id(), data: { seq: ++seq, ...event } }
      }
    } finally {
      if (--listeners === 0) {
        if (isClosed) end()
        else resting = setTimeout(end, restMs).unref()
      }
    }
  }

  function newsOr(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const stay = whenAborted(signal, () => reject(signal.reason))
      void news.promise.then(() => {
        stay()
        resolve()
      })
    })
  }

  return {
    follow,
    /** Ends the streams: their clients reconnect to the next run. */
    close(): void {
      isClosed = true
      news.resolve()
      if (listeners === 0) end()
    },
  }
}

export type EventHub = ReturnType<typeof createEventHub>

const cipher = 'aes-128-ecb'
const blockBytes = 16
/** Where in a block is what differs each time that a position is named; the rest after it is zero. */
const saltAt = 8
const zerosAt = 12

/**
 * Names of the positions in the list of events. All listeners read the same list, so a number would tell each of them how
 * many events of others came in between: the name is the number under a key that only this process has. Each name is a new
 * one, or the same name twice would tell that nobody else had events. Names of another list are not known.
 */
function createPositions() {
  const key = randomBytes(blockBytes)

  return {
    idOf(position: number): string {
      const block = Buffer.alloc(blockBytes)
      block.writeDoubleBE(position)
      randomFillSync(block, saltAt, zerosAt - saltAt)
      const sealing = createCipheriv(cipher, key, null).setAutoPadding(false)
      return Buffer.concat([sealing.update(block), sealing.final()]).toString('hex')
    },
    /** Undefined for a text that names none. */
    of(id: string): number | undefined {
      if (!/^[\da-f]{32}$/.test(id)) return undefined
      const opening = createDecipheriv(cipher, key, null).setAutoPadding(false)
      const block = Buffer.concat([opening.update(id, 'hex'), opening.final()])
      const isNamed = block.subarray(zerosAt).every((byte) => byte === 0)
      return isNamed ? block.readDoubleBE() : undefined
    },
  }
}
