import { constants } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { newId } from '../domain/ids.ts'
import { hashKey, newKey } from '../domain/keys.ts'
import { now } from '../domain/time.ts'
import type { Model } from '../inference/model.ts'
import { doesTask } from '../inference/registry.ts'
import type { Server } from '../server.ts'
import type { Database } from '../storage/database.ts'
import { listUsers } from '../storage/users/users.ts'
import type { Surroundings } from './command.ts'
import { operator } from './operator.ts'

/** Someone must be able to sign in. The key is shown here and never again. */
export async function makeFirstUser(config: Config, database: Database): Promise<string | undefined> {
  if (config.users.length > 0 || (await listUsers(database)).length > 0) return undefined
  const key = newKey()
  const user = { name: 'admin', role: 'admin' as const, entities: ['*'], created_at: now() }
  const hashed = { id: newId(), hash: hashKey(key) }
  return deferSignal(async () => {
    if (!(await database.write('addFirstUser', { user, key: hashed, by: operator('start') })))
      return undefined
    process.stderr.write(`\nMade the first user, "admin". Its key, shown this once:\n\n  ${key}\n\n`)
    return key
  })
}

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

/** A signal takes effect after the work, which would leave a key that nobody has seen. A second one does at once. */
async function deferSignal<T>(work: () => Promise<T>): Promise<T> {
  let received: NodeJS.Signals | undefined
  const release = () => {
    for (const signal of endings) process.off(signal, defer)
  }
  const defer = (signal: NodeJS.Signals) => {
    received = signal
    release()
  }
  for (const signal of endings) process.on(signal, defer)
  try {
    return await work()
  } finally {
    release()
    if (received !== undefined) process.kill(process.pid, received)
    // The first process of a container cannot end itself by a signal.
    if (received !== undefined && process.pid === 1) process.exit(128 + constants.signals[received])
  }
}

const checkMs = 100

/**
 * The last words of a start: what to open, and what to type. They are for a person, and the log is for machines. Logs
 * are stored and read by others, so a key is shown only on a terminal.
 */
export async function welcome(
  { address, models }: Pick<Server, 'address' | 'models'>,
  { page, users, model: source, models: file }: Pick<Config, 'page' | 'users' | 'model' | 'models'>,
  firstKey: string | undefined,
  stderr: Surroundings['stderr'],
  stopping: AbortSignal,
  // A model that takes longer, for instance because it is downloaded, does not delay the link.
  patienceMs = 5_000,
): Promise<void> {
  const keyed = firstKey !== undefined && page
  const say = (remark: string, hint = '') => {
    const text = `Heddle is ${remark === '' ? 'ready' : 'up'}: ${address}${page ? '/ui/' : ''}`
    stderr.write(
      stderr.isTTY
        ? `\n${text}${keyed ? `#key=${firstKey}` : ''}${remark}${keyed ? '' : `\n${signIn}`}${hint}\n\n`
        : `${text}${remark}\n`,
    )
  }
  const signIn =
    users.length > 0
      ? 'Sign in with a key of HEDDLE_USERS.'
      : 'Sign in with your key. `npx heddle key add admin` prints another; #key=… behind the link signs in, too.'
  // A server elsewhere is one model until it has listed its own.
  const stateOf = () => models.all[0]?.status().state
  const isStarting = () => stateOf() === 'starting'
  for (let waited = 0; isStarting(); waited += checkMs) {
    if (waited === patienceMs) say(' (its model is not ready yet)')
    await delay(checkMs, undefined, { signal: stopping, ref: false })
  }
  const model = models.all[0]
  if (stateOf() === 'failed') say(' (its model cannot be served; the log says why)')
  else {
    const isDemo = source === 'builtin' && file === ''
    say('', model === undefined ? '' : question(address, model, firstKey) + (isDemo ? realModel : ''))
  }
}

/** Small enough for a first try on any machine. The size is that of the file on the hub. */
const realModel = `\n\nThe model in the box is for trying the API. A real one, of about 490 MB; HEDDLE_MODEL then names it:
\n  npx heddle model pull hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q4_K_M`

/** A first question to the model, to be typed into a shell. */
function question(address: string, model: Model, key = '$KEY'): string {
  const served = model.served()
  if (served !== undefined && !doesTask(served, 'answers')) return ''
  const words = 'What is the capital of Mali?'
  const [path, body] =
    served === undefined || served.template !== undefined || model.upstream !== undefined
      ? ['chat/completions', { messages: [{ role: 'user', content: words }] }]
      : ['completions', { prompt: words, max_tokens: 20 }]
  return `\n\n  curl ${address}/v1/${path} -H "authorization: Bearer ${key}" \\
    -H 'content-type: application/json' -d '${JSON.stringify(body)}'`
}
