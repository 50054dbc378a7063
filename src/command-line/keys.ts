import { newId } from '../domain/ids.ts'
import { hashKey, newKey } from '../domain/keys.ts'
import { formatTime, formatTimeOrNull, now } from '../domain/time.ts'
import { hasUser, listKeys } from '../storage/users/users.ts'
import { type Command, CommandError, onlyArgument, usageError, withRecord } from './command.ts'
import { userNameArgument } from './name-arguments.ts'
import { operator } from './operator.ts'
import { parseWords } from './options.ts'

const recordOption = { record: { type: 'string' } } as const

/** The keys of users. */
export const keyCommands: Record<string, Command> = {
  'key add': {
    usage: 'USER [--record off]',
    summary: 'Make another key for a user and print it, once',
    more: '--record off: answers of models to this key are not recorded, for callers that record them themselves.',
    async run(args, config, print) {
      const { values, positionals } = parseWords(args, recordOption)
      const user = userNameArgument(positionals)
      const settings = recordGiven(values.record) === 'off' ? { record: 'off' as const } : {}
      const key = newKey()
      const added = await withRecord(config, (db) =>
        db.write('addKey', { id: newId(), hash: hashKey(key), user, settings, now: now(), by: operator() }),
      )
      if (!added) throw new CommandError(`There is no user ${user}.`)
      print(key)
    },
  },
  'key set': {
    usage: 'ID --record off|on',
    summary: 'Set whether answers of models to a key are recorded, and print its settings',
    async run(args, config, print) {
      const { values, positionals } = parseWords(args, recordOption)
      const id = onlyArgument(positionals, 'the id of one key')
      const record = recordGiven(values.record)
      if (record === undefined) throw usageError('Give what to set: --record.')
      const change = { record: record === 'off' ? ('off' as const) : null }
      const settings = await withRecord(config, (db) =>
        db.write('changeKeySettings', { id, change, by: operator() }),
      )
      if (settings === undefined)
        throw new CommandError(`There is no such key, or it was revoked before: ${id}.`)
      print(JSON.stringify({ id, ...settings }))
    },
  },
  'key list': {
    usage: 'USER',
    summary: 'List the keys of a user by their ids, one JSON object per line',
    async run(args, config, print) {
      const user = userNameArgument(args)
      const keys = await withRecord(config, async (db) =>
        (await hasUser(db, user)) ? listKeys(db, user) : undefined,
      )
      if (keys === undefined) throw new CommandError(`There is no user ${user}.`)
      for (const { id, created_at, revoked_at, settings } of keys) {
        const times = { created_at: formatTime(created_at), revoked_at: formatTimeOrNull(revoked_at) }
        print(JSON.stringify({ id, ...times, ...settings }))
      }
    },
  },
  'key revoke': {
    usage: 'ID',
    summary: 'Revoke a key at once',
    async run(args, config) {
      const id = onlyArgument(args, 'the id of one key')
      if (!(await withRecord(config, (db) => db.write('revokeKey', { id, now: now(), by: operator() })))) {
        throw new CommandError(`There is no such key, or it was revoked before: ${id}.`)
      }
    },
  },
}

function recordGiven(text: string | undefined): 'off' | 'on' | undefined {
  if (text === undefined || text === 'off' || text === 'on') return text
  throw usageError(`--record: given ${text}; accepted: off, on.`)
}
