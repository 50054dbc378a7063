// Heddle itself with groups of one: every write has its own transaction and fsync.

import { createLogger } from '../../src/command-line/logger.ts'
import { readConfig } from '../../src/config.ts'
import { openServedModels } from '../../src/inference/served-models.ts'
import { startServer } from '../../src/server.ts'
import { openSqlite } from '../../src/storage/engines/sqlite/open.ts'
import { sqliteFile } from '../../src/storage/open.ts'

const config = readConfig(process.env)
const database = await openSqlite({ file: sqliteFile(config.data), groupLimit: 1 })
const logger = await createLogger(config)
const models = await openServedModels(config, logger)
const server = await startServer(config, { database, models }, logger)
process.once('SIGTERM', () => void server.stop())
