import { fork } from 'node:child_process'
import { once } from 'node:events'
import pg from 'pg'

/** The orders that the guardian accepts. */
export type GuardianOrder = 'halt' | 'crash' | 'resume' | 'leave'

/** Once it listens; `isNew` says that it has no data of an earlier one. */
interface Listening {
  port: number
  password: string
  isNew: boolean
}

export type GuardianReport = Listening | { done: GuardianOrder } | { failed: string }

export interface TestPostgres {
  /** The administrator's database. Tests use one of their own from `createDatabase`. */
  url: string
  /**
   * The address of a new database, owned by a user with no other rights on the server: empty, or a copy of another, which
   * nobody may be connected to.
   */
  createDatabase(from?: string): Promise<string>
  /** The address of the database with this name, which is created if it does not exist. */
  database(name: string): Promise<string>
  /** Stops the server as its administrator would; `resume` starts it again with the same data on the same port. */
  halt(): Promise<void>
  /** Ends every process of the server at once, without notifying its clients. */
  crash(): Promise<void>
  resume(): Promise<void>
  stop(): Promise<void>
}

export interface PostgresOptions {
  /** Is kept with its data, and is served again if it has some. */
  folder?: string
  /** Settings of postgresql.conf. */
  settings?: Record<string, string>
}

const duplicateDatabase = '42P04'

/**
 * A real PostgreSQL on 127.0.0.1, stopped when this process ends, however it ends. Its data is removed with it, unless a
 * folder is given.
 */
export async function startPostgres({ folder, settings = {} }: PostgresOptions = {}): Promise<TestPostgres> {
  const guardian = fork(new URL('./postgres-guardian.ts', import.meta.url), {
    // Not in the terminal's group: the guardian shuts down in order when its channel closes.
    detached: true,
    execArgv: [],
    env: {
      ...process.env,
      HEDDLE_TEST_POSTGRES_SETTINGS: JSON.stringify(settings),
      ...(folder && { HEDDLE_TEST_POSTGRES_FOLDER: folder }),
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })

  async function next<Kind extends 'port' | 'done'>(
    kind: Kind,
  ): Promise<Extract<GuardianReport, Record<Kind, unknown>>> {
    const heard = new AbortController()
    guardian.channel?.ref()
    try {
      const [report] = (await Promise.race([
        once(guardian, 'message', { signal: heard.signal }),
        once(guardian, 'exit', { signal: heard.signal }).then(() => [{ failed: 'its guardian ended' }]),
      ])) as [GuardianReport]
      if (kind in report) return report as Extract<GuardianReport, Record<Kind, unknown>>
      throw new Error(`PostgreSQL: ${'failed' in report ? report.failed : JSON.stringify(report)}`)
    } finally {
      heard.abort()
      guardian.channel?.unref()
    }
  }

  function order(what: GuardianOrder): Promise<unknown> {
    const done = next('done')
    guardian.send(what)
    return done
  }

  const { port, password, isNew } = await next('port')
  // A test file that forgets to stop the server still ends.
  guardian.unref()

  const address = (user: string, database: string) =>
    `postgres://${user}:${password}@127.0.0.1:${port}/${database}`
  const url = address('postgres', 'postgres')
  let databases = 0

  async function administer(...statements: string[]): Promise<void> {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  }

  if (isNew) await administer(`CREATE ROLE heddle LOGIN PASSWORD '${password}'`)

  return {
    url,
    async createDatabase(from) {
      const name = `heddle_${++databases}`
      const copied = from === undefined ? '' : ` TEMPLATE ${from.slice(from.lastIndexOf('/') + 1)}`
      await administer(`CREATE DATABASE ${name} OWNER heddle${copied}`)
      return address('heddle', name)
    },
    async database(name) {
      await administer(`CREATE DATABASE ${name} OWNER heddle`).catch((error: { code?: string }) => {
        if (error.code !== duplicateDatabase) throw error
      })
      return address('heddle', name)
    },
    async halt() {
      await order('halt')
    },
    async crash() {
      await order('crash')
    },
    async resume() {
      await order('resume')
    },
    async stop() {
      if (!guardian.connected) return
      guardian.ref()
      const gone = once(guardian, 'exit')
      guardian.send('leave')
      await gone
    },
  }
}
