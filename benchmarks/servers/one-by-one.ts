// Heddle itself with groups of one: every write has its own transaction and fsync.

import { createLogger } from '../../src/command-line/logger.ts'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/server.ts'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { sqliteFile } from '../../src/storage/open.ts'

const config = readConfig(process.env)
const database = await openSqlite({ file: sqliteFile(config.data), groupLimit: 1 })
const server = await startServer(config, database, await createLogger(config))
process.once('SIGTERM', () => void server.stop())
