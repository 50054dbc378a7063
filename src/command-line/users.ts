import { parseArgs } from 'node:util'
import { newId } from '../domain/ids.ts'
import { hashKey, newKey } from '../domain/keys.ts'
import { formatTime, now } from '../domain/time.ts'
import { listUsers, type Role } from '../storage/tables/users.ts'
import { type Command, CommandError, exitCodes, withRecord } from './command.ts'

export const userCommands: Record<string, Command> = {
  'user add': {
    usage: 'NAME [--entities A,B] [--role ROLE]',
    summary: 'Add a user and print its first key, once',
    more: 'Without --entities the user reaches every entity. ROLE is member (default) or admin, who may also read /metrics.',
    async run(args, config) {
      const { values, positionals } = parseArgs({
        args: [...args],
        allowPositionals: true,
        options: { entities: { type: 'string', default: '*' }, role: { type: 'string', default: 'member' } },
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
      await withRecord(config, async (db) => {
        const user = { name, role, entities, created_at: now() }
        const added = await db.write('addUser', { user, key: { id: newId(), hash: hashKey(key) } })
        if (!added) throw new CommandError(`There is already a user ${name}.`)
      })
      process.stdout.write(`${key}\n`)
    },
  },
  'user list': {
    usage: '',
    summary: 'List the users, one JSON text a line',
    async run(_args, config) {
      for (const user of await withRecord(config, listUsers)) {
        const { name, role, entities, created_at } = user
        process.stdout.write(
          `${JSON.stringify({ name, role, entities, created_at: formatTime(created_at) })}\n`,
        )
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
}

export function nameGiven(words: readonly string[]): string {
  const [name, ...rest] = words
  if (name === undefined || rest.length > 0) throw new CommandError('Give one user name.', exitCodes.usage)
  if (!/^[\w.@-]{1,64}$/.test(name) || name === 'api') {
    throw new CommandError(
      `NAME: given ${JSON.stringify(name)}; accepted: 1 to 64 letters, digits and _ . @ -, but not "api", which stands for any user.`,
      exitCodes.usage,
    )
  }
  return name
}
