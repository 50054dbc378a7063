import pg from 'pg'
import { newId } from '../../../domain/ids.ts'
import { type Change, createChangeCollector, type Watcher } from '../../changes.ts'

const channel = 'heddle_changes'
/** Changes within this time are sent to other servers in one notice. */
const gatherMs = 100
/** PostgreSQL accepts less than 8000 bytes (https://www.postgresql.org/docs/current/sql-notify.html). */
const maxBytes = 7_900
const againMs = 1_000
/**
 * Behind a pooler, LISTEN may be on another connection than later statements, and no notice arrives. After this long
 * without our own notice, that is detected.
 */
const noNoticeMs = 5_000

interface Notice {
  from: string
  /** Absent if there are too many to list; empty for the notice that a server sends to itself. */
  changes?: readonly Change[]
}

interface Parts {
  url: string
  connectTimeoutMs: number
  /** Sends a notice to all listeners. */
  publish(channel: string, payload: string): Promise<unknown>
  heard: Watcher
}

/** Tells other servers on the same database what is written here, and receives the same from them. */
export function createNotices({ url, connectTimeoutMs, publish, heard }: Parts) {
  const me = newId()
  const pile = createChangeCollector()
  let gathering: NodeJS.Timeout | undefined
  let listening: { stop(): Promise<void> } | undefined
  let stopping: Promise<void> = Promise.resolve()

  async function tell(): Promise<void> {
    gathering = undefined
    const changes = pile.take()
    // A server that cannot be told because the database is unreachable has lost its connection too, and knows that it
    // missed something.
    await publish(channel, payloadOf(me, changes)).catch(() => undefined)
  }

  return {
    tell(changes: readonly Change[]): void {
      pile.add(changes)
      gathering ??= setTimeout(() => void tell(), gatherMs).unref()
    },
    listen(wanted: boolean): void {
      if (wanted) listening ??= listenTo()
      else {
        stopping = listening?.stop() ?? stopping
        listening = undefined
      }
    },
    async close(): Promise<void> {
      clearTimeout(gathering)
      await listening?.stop()
      await stopping
    },
  }

  function listenTo() {
    let client: pg.Client | undefined
    let timer: NodeJS.Timeout | undefined
    let isOver = false

    /** What was written while the connection was down is unknown. */
    const lost = (connection: pg.Client) => {
      if (isOver || client !== connection) return
      client = undefined
      clearTimeout(timer)
      connection.end().catch(() => undefined)
      timer = setTimeout(() => void open(), againMs).unref()
    }
    const deaf = () => {
      heard('unknown')
      timer = setTimeout(deaf, noNoticeMs).unref()
    }

    async function open(): Promise<void> {
      const next = new pg.Client({
        connectionString: url,
        application_name: 'heddle changes',
        connectionTimeoutMillis: connectTimeoutMs,
        keepAlive: true,
      })
      client = next
      next.on('error', () => lost(next))
      next.on('end', () => lost(next))
      next.on('notification', ({ payload = '' }) => {
        const { from, changes } = JSON.parse(payload) as Notice
        if (from === me) {
          // Our own notice has arrived, so notices work.
          if (changes?.length === 0) clearTimeout(timer)
        } else if (changes === undefined) heard('unknown')
        else if (changes.length > 0) heard(changes)
      })
      try {
        await next.connect()
        if (isOver) return
        await next.query(`LISTEN ${channel}`)
        heard('unknown')
        timer = setTimeout(deaf, noNoticeMs).unref()
        await publish(channel, payloadOf(me, []))
      } catch {
        lost(next)
      }
    }

    const opened = open()
    return {
      async stop() {
        isOver = true
        clearTimeout(timer)
        await opened
        await client?.end().catch(() => undefined)
      },
    }
  }
}

/** As many changes as fit. Too many ids are replaced by a mark that there are many. */
export function payloadOf(from: string, changes: readonly Change[] | 'unknown'): string {
  const written = (notice: Notice) => JSON.stringify(notice)
  if (changes === 'unknown') return written({ from })
  for (const listed of [changes, changes.map((change) => ({ ...change, ids: null }))]) {
    const payload = written({ from, changes: listed })
    if (Buffer.byteLength(payload) <= maxBytes) return payload
  }
  return written({ from })
}
