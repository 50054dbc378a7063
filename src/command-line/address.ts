import { createServer } from 'node:net'
import { type Config, variableInUse } from '../config.ts'
import { CommandError } from './command.ts'

/**
 * Fails with a one-line message if the server could not listen at its address. Checked before any folder or user is
 * created.
 */
export async function checkAddress(config: Config): Promise<void> {
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
export function listenFailure(error: unknown, { host, port }: Config): unknown {
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
