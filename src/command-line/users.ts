import { entityName, projectId } from '../domain/fields.ts'
import { newId } from '../domain/ids.ts'
import { hashKey, newKey } from '../domain/keys.ts'
import { type Grant, roles, type ServerRole } from '../domain/roles.ts'
import { formatTime, now } from '../domain/time.ts'
import { maxLimit, maxModels, modelName } from '../domain/user-settings.ts'
import type { Database } from '../storage/database.ts'
import type { SettingsChange } from '../storage/users/settings.ts'
import { listUsers } from '../storage/users/users.ts'
import { type Command, CommandError, usageError, withRecord } from './command.ts'
import { projectArgument, userNameArgument } from './name-arguments.ts'
import { operator } from './operator.ts'
import { parseWords } from './options.ts'

/** Who may use the server, and with which settings. */
export const userCommands: Record<string, Command> = {
  'user add': {
    usage: 'NAME [--entities A,B] [--role ROLE] [--new]',
    summary: 'Add a user and print its first key, once',
    more: 'Without --entities the user has access to every entity. ROLE is member (default) or admin, who may also read /metrics. --new creates the record if there is none yet.',
    async run(args, config, print) {
      const { values, positionals } = parseWords(args, {
        entities: { type: 'string', default: '*' },
        role: { type: 'string', default: 'member' },
        new: { type: 'boolean', default: false },
      })
      const name = userNameArgument(positionals)
      if (values.role !== 'member' && values.role !== 'admin') {
        throw usageError(`--role: given ${values.role}; accepted: member, admin.`)
      }
      const role: ServerRole = values.role
      const entities = values.entities.split(',').map((entity) => entity.trim())
      const wrong = entities.find((entity) => !entityName.safeParse(entity).success)
      if (wrong !== undefined) {
        throw usageError(
          `--entities: given ${JSON.stringify(wrong)}; accepted: names of entities, comma-separated, without spaces and : + /, not . and ..; * for all.`,
        )
      }
      const key = newKey()
      const add = async (db: Database) => {
        const user = { name, role, entities, created_at: now() }
        const added = await db.write('addUser', {
          user,
          key: { id: newId(), hash: hashKey(key) },
          by: operator(),
        })
        if (!added) throw new CommandError(`There is already a user ${name}.`)
      }
      await withRecord(config, add, { mayMake: values.new })
      print(key)
    },
  },
  'user list': {
    usage: '',
    summary: 'List the users, one JSON object per line',
    async run(_args, config, print) {
      for (const user of await withRecord(config, listUsers)) {
        const { name, role, entities, grants, created_at, settings } = user
        const access = { role, entities, ...(grants && { grants }) }
        print(JSON.stringify({ name, ...access, created_at: formatTime(created_at), ...settings }))
      }
    },
  },
  'user set': {
    usage:
      'NAME [--requests-per-minute N] [--tokens-per-minute N] [--at-once N] [--default-project P] [--models A,B] [--disabled yes]',
    summary:
      'Set the limits of a user and where its answers go, and print its settings; none removes a setting',
    more: 'It takes effect on a running server at once. Tokens are those of prompts and answers under /v1, charged when they are known. --default-project acme/qa is where answers of models are recorded when a request names no project; the user needs access to it. --models names the models that the user may use, comma-separated; for this user the others do not exist. --disabled yes refuses keys, tokens and sessions of the user until it is none. NAME may also be a user of HEDDLE_USERS, for whom it takes effect within a second; give the command the same HEDDLE_USERS as the server.',
    async run(args, config, print) {
      const { values, positionals } = parseWords(args, settingOptions)
      const name = userNameArgument(positionals)
      const change: SettingsChange = {}
      for (const [option, setting] of Object.entries(settingOfOption)) {
        const text = values[option as keyof typeof settingOfOption]
        if (text !== undefined) change[setting] = limitGiven(option, text)
      }
      const project = values['default-project']
      if (project !== undefined) {
        change.default_project = project === 'none' ? null : projectArgument('--default-project', project)
      }
      if (values.models !== undefined) change.models = modelsGiven(values.models)
      if (values.disabled !== undefined) change.disabled = disabledGiven(values.disabled)
      if (Object.keys(change).length === 0) {
        const options = Object.keys(settingOptions).map((option) => `--${option}`)
        throw usageError(`Give what to set: ${options.join(', ')}.`)
      }
      const isConfigured = config.users.some((user) => user.name === name)
      const settings = await withRecord(config, (db) =>
        db.write('changeUserSettings', { name, change, isConfigured, now: now(), by: operator() }),
      )
      if (settings === undefined) {
        throw new CommandError(`There is no user ${name}, neither in the record nor in HEDDLE_USERS.`)
      }
      print(JSON.stringify({ name, ...settings }))
    },
  },
  'user grant': {
    usage: 'NAME SCOPE=ROLE,…',
    summary: 'Replace what a user may do where',
    more: 'SCOPE is an entity, a project as acme/qa, or * for all; ROLE is viewer, annotator, editor or admin (docs/roles.md). It replaces the role and entities of `user add`, and takes effect at once.',
    async run(args, config) {
      const [text = '', ...others] = args.slice(1)
      if (others.length > 0) throw usageError('Give one list of grants: acme=viewer,acme/qa=editor.')
      const name = userNameArgument(args.slice(0, 1))
      const grants = text.split(',').map(grantIn)
      const set = await withRecord(config, (db) =>
        db.write('setGrants', { name, grants, lastAdminStays: false, by: operator() }),
      )
      if (set.result !== 'set') throw new CommandError(`There is no user ${name}.`)
    },
  },
  'user remove': {
    usage: 'NAME',
    summary: 'Remove a user and its keys, and stop its monitors; what the user wrote stays',
    async run(args, config) {
      const name = userNameArgument(args)
      const isConfigured = config.users.some((user) => user.name === name)
      const removed = { name, isConfigured, now: now(), by: operator() }
      if (!(await withRecord(config, (db) => db.write('removeUser', removed)))) {
        throw new CommandError(`There is no user ${name}.`)
      }
    },
  },
}

const settingOfOption = {
  'requests-per-minute': 'requests_per_minute',
  'tokens-per-minute': 'tokens_per_minute',
  'at-once': 'requests_at_once',
} as const

const settingOptions = {
  'requests-per-minute': { type: 'string' },
  'tokens-per-minute': { type: 'string' },
  'at-once': { type: 'string' },
  'default-project': { type: 'string' },
  models: { type: 'string' },
  disabled: { type: 'string' },
} as const

function modelsGiven(text: string): string[] | null {
  if (text === 'none') return null
  const names = [...new Set(text.split(',').map((name) => name.trim()))]
  const isGood = names.length <= maxModels && names.every((name) => modelName.safeParse(name).success)
  if (isGood) return names
  throw usageError(
    `--models: given ${JSON.stringify(text)}; accepted: at most ${maxModels} names of models, comma-separated and without spaces, or none.`,
  )
}

function disabledGiven(text: string): true | null {
  if (text === 'yes' || text === 'none') return text === 'yes' ? true : null
  throw usageError(`--disabled: given ${text}; accepted: yes, none.`)
}

function limitGiven(option: string, text: string): number | null {
  if (text === 'none') return null
  if (/^\d{1,10}$/.test(text) && Number(text) >= 1 && Number(text) <= maxLimit) return Number(text)
  throw usageError(`--${option}: given ${text}; accepted: 1 to ${maxLimit}, or none.`)
}

function grantIn(text: string): Grant {
  const [scope = '', named, ...others] = text.trim().split('=')
  const role = roles.find((known) => known === named)
  const isScope = entityName.safeParse(scope).success || projectId.safeParse(scope).success
  if (role !== undefined && others.length === 0 && isScope) return { scope, role }
  throw usageError(
    `Given ${JSON.stringify(text)}; accepted: an entity, a project as acme/qa, or *, then = and one of ${roles.join(', ')}.`,
  )
}
