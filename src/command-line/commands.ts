import type { Command } from './command.ts'
import { databaseCommands } from './database.ts'
import { exportCommands } from './exports.ts'
import { keyCommands } from './keys.ts'
import { modelCommands } from './models.ts'
import { projectCommands } from './projects.ts'
import { reportCommands } from './reports.ts'
import { serveCommand } from './serve.ts'
import { userCommands } from './users.ts'

/** Every command by its name. */
export const commands: Record<string, Command> = {
  serve: serveCommand,
  ...userCommands,
  ...keyCommands,
  ...projectCommands,
  ...reportCommands,
  ...modelCommands,
  ...databaseCommands,
  ...exportCommands,
}
