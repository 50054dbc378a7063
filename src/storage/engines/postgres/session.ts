import type pg from 'pg'
import { ConnectionLost, endsConnection } from './failures.ts'
import type { Statement } from './statements.ts'

export interface Answer {
  rows: unknown[]
  rowCount: number | null
  command: string
}

interface SessionOptions {
  pid: number
  /** Longer than the server's own limit: what ends a wait when the server is silent. */
  answerTimeoutMs: number
  /** Names that this connection has prepared. */
  prepared: Set<string>
  /** Knows of each statement that is not answered yet. */
  asking<T>(answer: Promise<T>): Promise<T>
  given(): void
}

/** Prepared statements that a connection may hold. The server keeps each of them until the connection ends. */
const mostPrepared = 1_000

export type Session = ReturnType<typeof createSession>

/** A connection while one piece of work has it. */
export function createSession(client: pg.PoolClient, options: SessionOptions) {
  const { prepared } = options
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
    if (back) throw new Error('a statement on a connection that was given back')
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

  return {
    /** The number of the server's process behind it, to cancel by. */
    pid: options.pid,
    /** One at a time; a second waits for the first. */
    query(statement: Statement | string): Promise<Answer> {
      const answer = last.then(() => ask(statement))
      last = answer.then(
        () => undefined,
        () => undefined,
      )
      return answer
    },
    /** Why the connection is gone, when it is. */
    get lost(): Error | undefined {
      return lost
    },
    /** Called when the connection goes, also while no statement is under way. */
    onLost(call: () => void): void {
      listener = call
    },
    /** For a connection in an unknown state: ends it, and whatever is under way on it. */
    hangUp,
    giveBack(): void {
      if (back) return
      back = true
      client.off('error', lose)
      client.release(lost ?? prepared.size > mostPrepared)
      options.given()
    },
  }
}
