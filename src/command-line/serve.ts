import closeWithGrace from 'close-with-grace'
import { type Config, changedSettings, serviceLinks } from '../config.ts'
import { newId } from '../domain/ids.ts'
import { hashKey, newKey } from '../domain/keys.ts'
import { now } from '../domain/time.ts'
import { startServer } from '../server.ts'
import type { Database } from '../storage/database.ts'
import { openRecord } from '../storage/open.ts'
import { listUsers } from '../storage/users/users.ts'
import { version } from '../version.ts'
import { checkAddress, listenFailure } from './address.ts'
import { type Command, CommandError, exitCodes, recordOptions } from './command.ts'
import { createLogger } from './logger.ts'
import { stopWithNpm } from './npm-shell.ts'
import { operator } from './operator.ts'
import { unknownOption } from './options.ts'

/** Time for flushing and closing, after the running requests have had theirs. */
const closingMs = 30_000

/**
 * Raised by the processor or the C library when native code has failed. The process has to end then; a listener would
 * return to the failed instruction for ever (https://nodejs.org/api/process.html#signal-events).
 */
const crashes = ['SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV'] as const

export const serveCommand: Command = {
  usage: '',
  summary: 'Run the server; this is the default without a command',
  more: 'SIGINT, SIGTERM, SIGQUIT and SIGHUP stop it: running requests finish, and everything is flushed. Answers that are not finished after HEDDLE_GRACE end with an error. A second signal ends it at once. SIGUSR2 has no effect.',
  async run(args, config) {
    const [first] = args
    if (first?.startsWith('-')) throw unknownOption(first)
    if (first !== undefined)
      throw new CommandError(`serve takes no arguments, given ${args.join(' ')}.`, exitCodes.usage)
    // Tools send it to have logs reopened; without a listener it would end the process.
    process.on('SIGUSR2', () => {})
    const unwatchNpm = stopWithNpm()
    const logger = await createLogger(config)
    const ignored = serviceLinks(process.env)
    if (ignored.length > 0)
      logger.info({ ignored, port: config.port }, 'variables of Kubernetes services are ignored')
    const report = (error: Error) =>
      logger.warn({ err: error }, 'an idle connection to the database was lost')
    const onLost = (text: string) =>
      logger.fatal(
        `${text}. Nothing is read or written from now on, and requests get 503. Put the record of HEDDLE_DATA back, then restart the server.`,
      )
    await checkAddress(config)
    const database = await openRecord({ ...recordOptions(config), report, onLost })
    const firstKey = await makeFirstUser(config, database)
    // A full disk must not keep a server from starting that can still be read.
    await database
      .write('noteDeed', {
        action: 'server.start',
        details: { version, settings: changedSettings(config) },
        by: operator('start'),
      })
      .catch((err: unknown) => logger.error({ err }, 'the start could not be written to the audit log'))
    const server = await startServer(config, database, logger).catch((error: unknown) => {
      throw listenFailure(error, config)
    })
    // Logs are stored and read by others: a link that contains a key is only for the person at the terminal.
    if (config.page && process.stderr.isTTY) {
      process.stderr.write(
        `\nThe page: ${server.address}/ui/${firstKey === undefined ? '' : `#key=${firstKey}`}\n\n`,
      )
    }
    await new Promise<void>((resolve, reject) => {
      const grace = { delay: config.grace + closingMs, skip: [...crashes, 'SIGUSR2' as const] }
      closeWithGrace(grace, async ({ err, signal }) => {
        if (err) process.stderr.write(`${err.stack ?? err.message}\n`)
        // The signal may have ended the shell of npm as well, and that must not count as a second one.
        unwatchNpm()
        logger.info({ signal }, 'stopping')
        try {
          await server.stop()
          logger.info('stopped')
          resolve()
        } catch (error) {
          reject(error as Error)
          throw error
        }
      })
    })
  },
}

/** Someone must be able to sign in. The key is shown here and never again. */
async function makeFirstUser(config: Config, database: Database): Promise<string | undefined> {
  if (config.users.length > 0 || (await listUsers(database)).length > 0) return undefined
  const key = newKey()
  const user = { name: 'admin', role: 'admin' as const, entities: ['*'], created_at: now() }
  const made = await database.write('addFirstUser', {
    user,
    key: { id: newId(), hash: hashKey(key) },
    by: operator('start'),
  })
  if (!made) return undefined
  process.stderr.write(`\nMade the first user, "admin". Its key, shown this once:\n\n  ${key}\n\n`)
  return key
}
