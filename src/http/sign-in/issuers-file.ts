import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { described } from '../../domain/described.ts'
import { foundAt, Key, pathText, text, wrongLine } from '../../inference/many/models-file.ts'
import { readSecret, readSettings, settingsError } from '../../inference/many/settings-file.ts'
import { readRule } from './claims.ts'

/** The file of HEDDLE_OIDC. Each message says what would be accepted. */

const loopback = /^(localhost|127\.0\.0\.1|\[::1\])$/

/** Plain http is for trials on one machine: whoever could change it on its way could sign in as anybody. */
function isIssuer(address: string): boolean {
  const url = /^https?:\/\//.test(address) ? URL.parse(address) : null
  if (url === null || url.username !== '' || url.search !== '' || url.hash !== '') return false
  return !url.pathname.includes('/.well-known/') && (url.protocol === 'https:' || loopback.test(url.hostname))
}

const names = { error: 'a list of at most 100 texts' }

const Issuer = z.strictObject({
  name: z.string(short()).regex(/^[a-z0-9][a-z0-9-]{0,31}$/, short()),
  title: text('the text of its button, at most 60 characters', 60).optional(),
  issuer: z.string({ error: issuerError() }).refine(isIssuer, { error: issuerError() }),
  client_id: text('the id of the client there', 512),
  client_secret: Key.optional(),
  client_auth: z.enum(['basic', 'post'], { error: 'basic, post' }).optional(),
  scopes: z.array(text('a scope', 200), names).max(100, names).optional(),
  audience: text('the audience of its access tokens', 512).optional(),
  sign_up: z.boolean({ error: 'true or false' }).optional(),
  claim: text('the name of a claim, or a path with dots', 200).optional(),
  grants: z
    .array(
      z.string(grantError()).refine((rule) => readRule(rule) !== undefined, grantError()),
      names,
    )
    .max(100, names)
    .optional(),
})

const IssuersFile = z.strictObject({
  issuers: z
    .array(Issuer, { error: 'a list of 1 to 16 issuers' })
    .min(1, { error: 'a list of 1 to 16 issuers' })
    .max(16, { error: 'a list of 1 to 16 issuers' }),
})

export interface IssuerSpec extends Omit<z.output<typeof Issuer>, 'client_secret'> {
  client_secret?: string
}

export async function readIssuers(
  path: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<IssuerSpec[]> {
  const value = await readSettings(path, 'docs/sign-in.md')
  const result = IssuersFile.safeParse(value)
  if (!result.success)
    throw settingsError(
      path,
      result.error.issues.map((issue) => lineOf(issue, value)),
    )
  const { issuers } = result.data
  const wrong = checkTogether(issuers)
  const found: IssuerSpec[] = []
  for (const [index, { client_secret, ...issuer }] of issuers.entries()) {
    const where = `issuers[${index}].client_secret`
    const folder = dirname(resolve(path))
    const secret = client_secret && (await readSecret(client_secret, { where, folder, environment, wrong }))
    found.push({ ...issuer, ...(secret !== undefined && { client_secret: secret }) })
  }
  if (wrong.length > 0) throw settingsError(path, wrong)
  return found
}

function lineOf(issue: z.core.$ZodIssue, value: unknown): string {
  const path = pathText(issue.path)
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(issue.path.length === 0 ? IssuersFile.shape : Issuer.shape).join(', ')
    return wrongLine(path, `unknown fields ${issue.keys.join(', ').slice(0, 200)}`, known)
  }
  // A value given for a secret may be one.
  if (issue.path.includes('client_secret')) return wrongLine(path, 'something else', issue.message)
  return wrongLine(path, described(foundAt(issue.path, value)), issue.message)
}

function checkTogether(issuers: z.output<typeof Issuer>[]): string[] {
  const wrong: string[] = []
  for (const [
    index,
    { name, issuer, claim, grants, sign_up, client_auth, client_secret },
  ] of issuers.entries()) {
    const path = `issuers[${index}]`
    const before = issuers.slice(0, index)
    if (before.some((other) => other.name === name))
      wrong.push(wrongLine(`${path}.name`, JSON.stringify(name), 'a name that no other issuer has'))
    if (before.some((other) => other.issuer === issuer))
      wrong.push(wrongLine(`${path}.issuer`, JSON.stringify(issuer), 'each issuer once'))
    if (sign_up && grants === undefined)
      wrong.push(wrongLine(`${path}.grants`, 'nothing', 'what new users may do, as sign_up is true'))
    if (claim !== undefined && grants === undefined)
      wrong.push(wrongLine(`${path}.claim`, described(claim), 'nothing without grants'))
    if (client_auth !== undefined && client_secret === undefined)
      wrong.push(wrongLine(`${path}.client_auth`, client_auth, 'nothing without client_secret'))
  }
  return wrong
}

function short() {
  return { error: 'a short name of a-z, 0-9 and -, which becomes part of addresses' }
}

function issuerError() {
  return 'the issuer, such as https://id.example.com/realms/main, without /.well-known; http only on this machine'
}

function grantError() {
  return { error: '<value>=<role>[@<entity>[/<project>]], the role viewer, annotator, editor or admin' }
}
