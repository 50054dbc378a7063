import { newId } from '../domain/ids.ts'
import { hashKey, newKey } from '../domain/keys.ts'
import { type Scope, scopes } from '../domain/roles.ts'
import { formatTime, formatTimeOrNull, now, parseTime } from '../domain/time.ts'
import { hasUser, listKeys } from '../storage/users/users.ts'
import { type Command, CommandError, onlyArgument, usageError, withRecord } from './command.ts'
import { userNameArgument } from './name-arguments.ts'
import { operator } from './operator.ts'
import { parseWords } from './options.ts'

const recordOption = { record: { type: 'string' } } as const
const keyOptions = { ...recordOption, scope: { type: 'string' }, expires: { type: 'string' } } as const

/** The keys of users. */
export const keyCommands: Record<string, Command> = {
  'key add': {
    usage: 'USER [--record off] [--scope A,B] [--expires TIME]',
    summary: 'Make another key for a user and print it, once',
    more: '--record off: answers of models to this key are not recorded, for callers that record them themselves. --scope limits what the key is for, such as infer or read,write_calls (docs/roles.md). --expires 2027-01-31 or a time: from then on the key is unknown.',
    async run(args, config, print) {
      const { values, positionals } = parseWords(args, keyOptions)
      const user = userNameArgument(positionals)
      const settings = {
        ...(recordGiven(values.record) === 'off' && { record: 'off' as const }),
        ...(values.scope !== undefined && { scopes: scopesIn(values.scope) }),
        ...(values.expires !== undefined && { expires_at: expiryIn(values.expires) }),
      }
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
      for (const { id, created_at, revoked_at, last_used_at, settings } of keys) {
        const times = {
          created_at: formatTime(created_at),
          last_used_at: formatTimeOrNull(last_used_at),
          revoked_at: formatTimeOrNull(revoked_at),
        }
        const { expires_at, ...others } = settings
        const expiry = expires_at === undefined ? {} : { expires_at: formatTime(expires_at) }
        print(JSON.stringify({ id, ...times, ...others, ...expiry }))
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

function scopesIn(text: string): Scope[] {
  const names = [...new Set(text.split(',').map((name) => name.trim()))]
  const known = scopes.filter((scope) => names.includes(scope))
  if (known.length === names.length) return known
  throw usageError(`--scope: given ${text}; accepted: ${scopes.join(', ')}, comma-separated.`)
}

function expiryIn(text: string): number {
  const time = parseTime(text)
  if (time !== undefined && time > now()) return time
  throw usageError(`--expires: given ${text}; accepted: a UTC day or time in the future, such as 2027-01-31.`)
}
