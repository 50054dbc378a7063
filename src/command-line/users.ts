import { parseArgs } from 'node:util'
import { newId } from '../domain/ids.ts'
import { hashKey, newKey } from '../domain/keys.ts'
import { formatTime, now } from '../domain/time.ts'
import type { Database } from '../storage/database.ts'
import { hasUser, listKeys, listUsers, type Role } from '../storage/tables/users.ts'
import { type Command, CommandError, exitCodes, onlyArgument, print, withRecord } from './command.ts'

/** Who may come in, and with which keys. */
export const userCommands: Record<string, Command> = {
  'user add': {
    usage: 'NAME [--entities A,B] [--role ROLE] [--new]',
    summary: 'Add a user and print its first key, once',
    more: 'Without --entities the user reaches every entity. ROLE is member (default) or admin, who may also read /metrics. --new makes the record where there is none yet.',
    async run(args, config) {
      const { values, positionals } = parseArgs({
        args: [...args],
        allowPositionals: true,
        options: {
          entities: { type: 'string', default: '*' },
          role: { type: 'string', default: 'member' },
          new: { type: 'boolean', default: false },
        },
      })
      const name = nameGiven(positionals)
      if (values.role !== 'member' && values.role !== 'admin') {
        throw new CommandError(`--role: given ${values.role}; accepted: member, admin.`, exitCodes.usage)
      }
      const role: Role = values.role
      const entities = values.entities.split(',').map((entity) => entity.trim())
      if (entities.some((entity) => entity === '' || entity.includes('/'))) {
        throw new CommandError(
          '--entities: names of entities, comma-separated, without a slash; * for all.',
          exitCodes.usage,
        )
      }
      const key = newKey()
      const add = async (db: Database) => {
        const user = { name, role, entities, created_at: now() }
        const added = await db.write('addUser', { user, key: { id: newId(), hash: hashKey(key) } })
        if (!added) throw new CommandError(`There is already a user ${name}.`)
      }
      await withRecord(config, add, { mayMake: values.new })
      print(key)
    },
  },
  'user list': {
    usage: '',
    summary: 'List the users, one JSON text a line',
    async run(_args, config) {
      for (const user of await withRecord(config, listUsers)) {
        const { name, role, entities, created_at } = user
        print(JSON.stringify({ name, role, entities, created_at: formatTime(created_at) }))
      }
    },
  },
  'user remove': {
    usage: 'NAME',
    summary: 'Remove a user and its keys; what it wrote stays',
    async run(args, config) {
      const name = nameGiven(args)
      if (!(await withRecord(config, (db) => db.write('removeUser', { name })))) {
        throw new CommandError(`There is no user ${name}.`)
      }
    },
  },
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
      print(key)
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
        print(JSON.stringify(line))
      }
    },
  },
  'key revoke': {
    usage: 'ID',
    summary: 'End a key at once',
    async run(args, config) {
      const id = onlyArgument(args, 'the id of one key')
      if (!(await withRecord(config, (db) => db.write('revokeKey', { id, now: now() })))) {
        throw new CommandError(`There is no such key, or it was revoked before: ${id}.`)
      }
    },
  },
}

function nameGiven(words: readonly string[]): string {
  const name = onlyArgument(words, 'one user name')
  if (!/^[\w.@-]{1,64}$/.test(name) || name === 'api') {
    throw new CommandError(
      `NAME: given ${JSON.stringify(name)}; accepted: 1 to 64 letters, digits and _ . @ -, but not "api", which stands for any user.`,
      exitCodes.usage,
    )
  }
  return name
}
