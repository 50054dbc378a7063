import type pg from 'pg'
import { refuse } from '../../../domain/refusals.ts'
import { ConnectionLost, endsConnection } from './failures.ts'
import type { Statement } from './statements.ts'

export interface Answer {
  rows: unknown[]
  rowCount: number | null
  command: string
}

/** Behind a pooler the next transaction may be in another session. */
interface Pooled {
  /** A query that sets what the statements of a transaction rely on, and answers the process id. */
  settings: string
  /** How long a transaction may wait for the pooler to give it a session. */
  maxWaitMs: number
  /** A pooler lets its clients wait if the database is away: how often that is looked at. */
  checkMs: number
  askDirectly(): Promise<unknown>
}

interface SessionOptions {
  pid: number
  /** Longer than the server's own limit; ends the wait when the server is silent. */
  answerTimeoutMs: number
  /** Names of statements prepared on this connection. */
  prepared: Set<string>
  pooled?: Pooled
  /** Is given each statement that is not answered yet. */
  asking<T>(answer: Promise<T>): Promise<T>
  onRelease(): void
}

/** The most prepared statements of a connection. The server keeps each until the connection ends. */
const maxPrepared = 1_000

export type Session = ReturnType<typeof createSession>

/** A connection while one piece of work uses it. */
export function createSession(client: pg.PoolClient, options: SessionOptions) {
  const { prepared, pooled } = options
  let pid = options.pid
  let lost: Error | undefined
  let listener: (() => void) | undefined
  let back = false
  let last: Promise<unknown> = Promise.resolve()

  const lose = (error: Error) => {
    if (lost !== undefined) return
    lost = error
    listener?.()
  }
  client.on('error', lose)

  function hangUp(reason: Error): void {
    lose(reason)
    client.connection.stream.destroy(reason)
  }

  async function ask(statement: Statement | string): Promise<Answer> {
    if (lost !== undefined) throw new ConnectionLost('before-commit', lost)
    if (back) throw new Error('a statement was sent on a connection that is back in the pool')
    if (typeof statement !== 'string' && statement.name !== undefined) prepared.add(statement.name)
    const timer = setTimeout(() => {
      hangUp(new Error(`the server did not answer within ${options.answerTimeoutMs} ms`))
    }, options.answerTimeoutMs)
    try {
      return await options.asking(client.query(statement))
    } catch (error) {
      if (endsConnection(error)) lose(error as Error)
      throw lost === undefined ? error : new ConnectionLost('before-commit', error)
    } finally {
      clearTimeout(timer)
    }
  }

  function query(statement: Statement | string): Promise<Answer> {
    const answer = last.then(() => ask(statement))
    last = answer.then(
      () => undefined,
      () => undefined,
    )
    return answer
  }

  async function beginPooled(
    statement: string,
    { settings, maxWaitMs, checkMs, askDirectly }: Pooled,
  ): Promise<void> {
    pid = 0
    let isOver = false
    let failure: Error | undefined
    const giveUp = (reason: Error) => {
      if (isOver) return
      failure ??= reason
      hangUp(reason)
    }
    const away = (error: unknown) => giveUp(new ConnectionLost('unreachable', error))
    const checking = setInterval(() => void askDirectly().catch(away), checkMs)
    const waiting = setTimeout(() => giveUp(refuse('queue_full')), maxWaitMs)
    try {
      // Of several statements, the driver answers a list.
      const [, answer] = (await query(`${statement}; ${settings}`)) as unknown as Answer[]
      pid = (answer?.rows[0] as { pid: number } | undefined)?.pid ?? 0
    } catch (error) {
      throw failure ?? error
    } finally {
      isOver = true
      clearInterval(checking)
      clearTimeout(waiting)
    }
  }

  return {
    /** The process id of the server side, needed to cancel; 0 while a pooler has not given one. */
    get pid(): number {
      return pid
    },
    /** Whether each transaction may be in another session. */
    isPooled: pooled !== undefined,
    /** One statement at a time; a second one waits for the first. */
    query,
    /** Begins a transaction. */
    async begin(statement: string): Promise<void> {
      await (pooled === undefined ? query(statement) : beginPooled(statement, pooled))
    },
    /** Why the connection was lost, if it was. */
    get lost(): Error | undefined {
      return lost
    },
    /** Called when the connection is lost, even if no statement is running. */
    onLost(call: () => void): void {
      listener = call
    },
    /** For a connection in an unknown state: closes it, together with whatever is running on it. */
    hangUp,
    giveBack(): void {
      if (back) return
      back = true
      client.off('error', lose)
      client.release(lost ?? prepared.size > maxPrepared)
      options.onRelease()
    },
  }
}
