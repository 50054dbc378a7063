import { newId } from '../domain/ids.ts'
import { hashKey, newKey } from '../domain/keys.ts'
import { formatTime, now } from '../domain/time.ts'
import { hasUser, listKeys } from '../storage/tables/users.ts'
import { type Command, CommandError, exitCodes, withRecord } from './command.ts'
import { nameGiven } from './users.ts'

export const keyCommands: Record<string, Command> = {
  'key add': {
    usage: 'USER',
    summary: 'Make another key for a user and print it, once',
    async run(args, config) {
      const user = nameGiven(args)
      const key = newKey()
      const added = await withRecord(config, (db) =>
        db.write('addKey', { id: newId(), hash: hashKey(key), user, now: now() }),
      )
      if (!added) throw new CommandError(`There is no user ${user}.`)
      process.stdout.write(`${key}\n`)
    },
  },
  'key list': {
    usage: 'USER',
    summary: 'List the keys of a user by their ids, one JSON text a line',
    async run(args, config) {
      const user = nameGiven(args)
      const keys = await withRecord(config, async (db) =>
        (await hasUser(db, user)) ? listKeys(db, user) : undefined,
      )
      if (keys === undefined) throw new CommandError(`There is no user ${user}.`)
      for (const { id, created_at, revoked_at } of keys) {
        const line = {
          id,
          created_at: formatTime(created_at),
          revoked_at: revoked_at === null ? null : formatTime(revoked_at),
        }
        process.stdout.write(`${JSON.stringify(line)}\n`)
      }
    },
  },
  'key revoke': {
    usage: 'ID',
    summary: 'End a key at once',
    async run(args, config) {
      const [id, ...rest] = args
      if (id === undefined || rest.length > 0)
        throw new CommandError('Give the id of one key.', exitCodes.usage)
      if (!(await withRecord(config, (db) => db.write('revokeKey', { id, now: now() })))) {
        throw new CommandError(`There is no such key, or it was revoked before: ${id}.`)
      }
    },
  },
}
