/** What scripts can tell from how a command ends. */
export const exitCodes = {
  done: 0,
  failed: 1,
  /** The command line or a setting is wrong. */
  usage: 2,
  /** The record cannot be opened: locked, damaged, newer, not reachable. */
  record: 3,
} as const

/** Ends a command with one line on stderr. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly exitCode: number

  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message)
    this.exitCode = exitCode
  }
}
