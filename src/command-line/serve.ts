import closeWithGrace from 'close-with-grace'
import { changedSettings, serviceLinks } from '../config.ts'
import { Refusal } from '../domain/refusals.ts'
import { logRefusal } from '../http/request-log.ts'
import { startServer } from '../server.ts'
import { openRecord } from '../storage/open.ts'
import { version } from '../version.ts'
import { checkAddress, listenFailure } from './address.ts'
import { type Command, recordOptions } from './command.ts'
import { createLogger } from './logger.ts'
import { stopWithNpm } from './npm-shell.ts'
import { operator } from './operator.ts'
import { noWords, unknownOption } from './options.ts'
import { makeFirstUser, welcome } from './welcome.ts'

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
  async run(args, config, _print, { stderr }) {
    const [first] = args
    if (first?.startsWith('-')) throw unknownOption(first)
    noWords(args, 'serve')
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
    const onColdFailure = (error: Error) =>
      logger.error({ err: error }, 'the store of cold calls does not answer; older calls cannot be read')
    const database = await openRecord({ ...recordOptions(config), report, onLost, onColdFailure })
    const firstKey = await makeFirstUser(config, database)
    // A full disk must not keep a server from starting that can still be read.
    const noted = database
      .write('noteDeed', {
        action: 'server.start',
        details: { version, settings: changedSettings(config) },
        by: operator('start'),
      })
      .catch((error: unknown) => {
        const work = 'the start could not be written to the audit log'
        if (error instanceof Refusal) logRefusal(logger.child({ work }), error)
        else logger.error({ err: error }, work)
      })
    const starting = startServer(config, database, logger, noted).catch((error: unknown) => {
      throw listenFailure(error, config)
    })
    const stopping = new AbortController()
    await new Promise<void>((resolve, reject) => {
      const grace = { delay: config.grace + closingMs, skip: [...crashes, 'SIGUSR2' as const] }
      // Before the port opens: whoever reads the log may stop the server as soon as it says that it listens.
      const signals = closeWithGrace(grace, async ({ err, signal }) => {
        if (err) process.stderr.write(`${err.stack ?? err.message}\n`)
        // The signal may have ended the shell of npm as well, and that must not count as a second one.
        unwatchNpm()
        stopping.abort()
        logger.info({ signal }, 'stopping')
        try {
          const server = await starting
          await server.stop()
          logger.info('stopped')
          resolve()
        } catch (error) {
          reject(error as Error)
          throw error
        }
      })
      starting
        .then(
          (server) =>
            stopping.signal.aborted ? undefined : welcome(server, config, firstKey, stderr, stopping.signal),
          (error: unknown) => {
            signals.uninstall()
            reject(error as Error)
          },
        )
        // Rejected when the server stops before it was ready.
        .catch(() => undefined)
    })
  },
}
