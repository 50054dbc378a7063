import { setTimeout as sleep } from 'node:timers/promises'
import type { Change } from '../../changes.ts'
import { refuseCold } from '../../cold/in-transactions.ts'
import type { Dialect } from '../../sql/dialect.ts'
import { type Sql, sql } from '../../sql/sql.ts'
import type { Command, Transaction } from '../../transaction.ts'
import type { Connections } from './connections.ts'
import { ConnectionLost, isCollision } from './failures.ts'
import type { Answer, Session } from './session.ts'
import type { Statement, Statements } from './statements.ts'

/** For a transaction that collided with another. */
const maxRetries = 3

/**
 * Runs a command in its own transaction and resolves after COMMIT. The command may run more than once, each time from a
 * clean slate: after a deadlock, and once if the connection was lost before COMMIT was sent.
 */
export async function runCommand<Input, Output>(
  connections: Connections,
  statements: Statements,
  dialect: Dialect,
  command: Command<Input, Output>,
  input: Input,
  tenant: string,
  changed: (changes: readonly Change[]) => void,
): Promise<Output> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connections.use(tenant, (session) =>
        commit(session, statements, dialect, command, input, changed),
      )
    } catch (error) {
      if (!mayRetry(error, attempt)) throw error
      await sleep(attempt * 10 * (0.5 + Math.random()))
    }
  }
}

function mayRetry(error: unknown, attempt: number): boolean {
  if (isCollision(error)) return attempt <= maxRetries
  return mayReconnect(error, attempt)
}

/**
 * A connection that died while idle fails only when it is used; trying the next one shows whether the server is
 * unreachable.
 */
export function mayReconnect(error: unknown, attempt: number): boolean {
  return error instanceof ConnectionLost && error.stage === 'before-commit' && attempt === 1
}

async function commit<Input, Output>(
  session: Session,
  statements: Statements,
  dialect: Dialect,
  command: Command<Input, Output>,
  input: Input,
  changed: (changes: readonly Change[]) => void,
): Promise<Output> {
  const { tx, seal, changes } = transactionOn(session, statements, dialect)
  let output: Output
  try {
    // The server's default may differ.
    await session.begin('BEGIN ISOLATION LEVEL READ COMMITTED')
    output = await command(tx, input)
    seal()
    if (session.lost !== undefined) throw new ConnectionLost('before-commit', session.lost)
  } catch (error) {
    seal()
    await rollBack(session)
    throw error
  }
  try {
    const { command: answer } = await session.query('COMMIT')
    // The server answers ROLLBACK, without an error, if a statement failed and the command continued anyway.
    if (answer !== 'COMMIT') throw new Error('a command continued after one of its statements had failed')
    if (changes.length > 0) changed(changes)
    return output
  } catch (error) {
    throw error instanceof ConnectionLost ? new ConnectionLost('unconfirmed', error.cause) : error
  }
}

/** A statement outside of commands. */
export async function askAlone(session: Session, statement: Statement): Promise<Answer> {
  if (!session.isPooled) return session.query(statement)
  try {
    await session.begin('BEGIN ISOLATION LEVEL READ COMMITTED')
    const answer = await session.query(statement)
    await session.query('COMMIT')
    return answer
  } catch (error) {
    await rollBack(session)
    throw error
  }
}

export async function rollBack(session: Session): Promise<void> {
  if (session.lost !== undefined) return
  try {
    await session.query('ROLLBACK')
  } catch (error) {
    session.hangUp(error as Error)
  }
}

function transactionOn(session: Session, statements: Statements, dialect: Dialect) {
  let sealed = false
  const changes: Change[] = []

  async function ask(query: Sql): Promise<Answer> {
    if (sealed) throw new Error('a command did not await its transaction')
    return session.query(statements(query))
  }

  const tx: Transaction = {
    dialect,
    record: statements,
    all: async <T>(query: Sql) => refuseCold((await ask(query)).rows) as T[],
    get: async <T>(query: Sql) => refuseCold((await ask(query)).rows)[0] as T | undefined,
    run: async (query) => (await ask(query)).rowCount ?? 0,
    async lockShared(key) {
      await ask(sql`SELECT pg_advisory_xact_lock_shared(hashtextextended(${key}, ${lockSeed}))`)
    },
    async lock(key) {
      await ask(sql`SELECT pg_advisory_xact_lock(hashtextextended(${key}, ${lockSeed}))`)
    },
    async tryLock(work) {
      const { rows } = await ask(
        sql`SELECT pg_try_advisory_xact_lock(hashtextextended(${work}, ${lockSeed})) AS ours`,
      )
      return (rows[0] as { ours: number }).ours === 1
    },
    changed: (change) => void changes.push(change),
  }
  return {
    tx,
    changes,
    /** From here on, a statement that a command forgot to await fails instead of running outside the transaction. */
    seal(): void {
      sealed = true
    },
  }
}

/** Keeps our locks apart from the advisory locks of other programs in the same database. */
const lockSeed = 0x6865_646c
