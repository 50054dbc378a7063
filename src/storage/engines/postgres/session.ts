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
  /** Longer than the server's own limit; ends the wait when the server is silent. */
  answerTimeoutMs: number
  /** Names of statements prepared on this connection. */
  prepared: Set<string>
  /** Is given each statement that is not answered yet. */
  asking<T>(answer: Promise<T>): Promise<T>
  onRelease(): void
}

/** The most prepared statements of a connection. The server keeps each until the connection ends. */
const maxPrepared = 1_000

export type Session = ReturnType<typeof createSession>

/** A connection while one piece of work uses it. */
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

  return {
    /** The process id of the server side, needed to cancel. */
    pid: options.pid,
    /** One statement at a time; a second one waits for the first. */
    query(statement: Statement | string): Promise<Answer> {
      const answer = last.then(() => ask(statement))
      last = answer.then(
        () => undefined,
        () => undefined,
      )
      return answer
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
