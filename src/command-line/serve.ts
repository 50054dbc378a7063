import { createServer } from 'node:net'
import closeWithGrace from 'close-with-grace'
import { type Config, changedSettings, serviceLinks, variableInUse } from '../config.ts'
import { Refusal } from '../domain/refusals.ts'
import { logRefusal } from '../http/request-log.ts'
import { openServedModels } from '../inference/served-models.ts'
import type { Database } from '../storage/database.ts'
import { version } from '../version.ts'
import { type Command, CommandError, recordOptions } from './command.ts'
import { createLogger } from './logger.ts'
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
    const models = await openServedModels(config, logger)
    // Each step goes on in a process or thread of its own, while the next one is loaded here.
    const open = async (): Promise<[Database, string | undefined]> => {
      const { openRecord } = await import('../storage/open.ts')
      const database = await openRecord({ ...recordOptions(config), report, onLost, onColdFailure })
      await import('../server.ts')
      return [database, await makeFirstUser(config, database)]
    }
    const [database, firstKey] = await open().catch(async (error: unknown) => {
      await models.close()
      throw error
    })
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
    const { startServer } = await import('../server.ts')
    const starting = startServer(config, { database, models }, logger, noted).catch((error: unknown) => {
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

/** How often it is checked; npm itself is gone at once. */
const checkMs = 250

/** Known before anything is opened: later the shell may be gone already. */
const shell = process.ppid

/**
 * npm runs a script in a shell, and passes signals on to that shell only. Many shells, such as dash, end from SIGTERM
 * without passing it on, and the server would go on without anyone who knows of it. So when the shell of this package's
 * `npm start` has ended, the server stops as if it had received the signal. Returns how to stop watching.
 */
function stopWithNpm(): () => void {
  const { npm_lifecycle_event: script, npm_package_name: name } = process.env
  // A script of another package may start a server in the background on purpose.
  if (script !== 'start' || name !== 'heddle') return () => undefined
  const watch = setInterval(() => {
    // The process that adopts an orphan has another number. On Windows the number never changes, and there no signal
    // reaches npm alone.
    if (process.ppid === shell) return
    clearInterval(watch)
    process.kill(process.pid, 'SIGTERM')
  }, checkMs).unref()
  return () => clearInterval(watch)
}

/**
 * Fails with a one-line message if the server could not listen at its address. Checked before any folder or user is
 * created.
 */
async function checkAddress(config: Config): Promise<void> {
  const probe = createServer()
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject)
      probe.listen({ host: config.host, port: config.port, exclusive: true }, resolve)
    })
  } catch (error) {
    throw listenFailure(error, config)
  }
  await new Promise((resolve) => probe.close(resolve))
}

/** Explains why the port could not be opened, naming the setting. Other errors are returned unchanged. */
function listenFailure(error: unknown, { host, port }: Config): unknown {
  if (!(error instanceof Error) || !('syscall' in error) || !listening.has(String(error.syscall)))
    return error
  const { code = '' } = error as NodeJS.ErrnoException
  const hostSetting = `${variableInUse('host', process.env)}: given ${host}`
  const portVariable = variableInUse('port', process.env)
  const portSetting = `${portVariable}: given ${port}`
  const anyHost = 'accepted: an address of this machine such as 127.0.0.1, or 0.0.0.0 for all of them'
  const command = process.env.npm_lifecycle_event === 'start' ? 'npm start' : 'heddle'
  switch (code) {
    case 'EADDRINUSE':
      return new CommandError(
        `${portSetting}, but another program listens on it (${code}, ${host}); accepted: a free port, or 0 to have one chosen. For instance: ${portVariable}=${(port + 1) % 65_536} ${command}`,
      )
    case 'EACCES':
      return new CommandError(
        `${portSetting}, but this user is not allowed to open it (${code}); accepted: a port from 1024 on, or 0 to have one chosen.`,
      )
    case 'EADDRNOTAVAIL':
      return new CommandError(
        `${hostSetting}, which is not an address of this machine (${code}); ${anyHost}.`,
      )
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new CommandError(`${hostSetting}, a name that has no address (${code}); ${anyHost}.`)
    default:
      return new CommandError(
        `${hostSetting}: the server cannot listen on it (${error.message}); ${anyHost}.`,
      )
  }
}

/** The system calls behind opening a port. */
const listening = new Set(['listen', 'bind', 'getaddrinfo'])
