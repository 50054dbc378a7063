import { entityName, projectId } from '../../domain/fields.ts'
import { type Grant, type Role, roles } from '../../domain/roles.ts'

export type Claims = Readonly<Record<string, unknown>>

/** `value=role[@entity[/project]]`: whoever has the value has the role there. The value `*` is everybody. */
interface Rule {
  value: string
  grant: Grant
}

/** Undefined if the text is none. Values may contain `=` and `@`; names of entities do not. */
export function readRule(rule: string): Rule | undefined {
  const [, value, role, scope = '*'] = /^(.+)=([a-z]+)(?:@([^@=]+))?$/.exec(rule) ?? []
  if (value === undefined || !roles.includes(role as Role)) return undefined
  const isScope = scope.includes('/')
    ? projectId.safeParse(scope).success
    : entityName.safeParse(scope).success
  return isScope ? { value, grant: { scope, role: role as Role } } : undefined
}

/** Names of claims may contain dots themselves, as addresses do: the whole path is tried first. */
function claimAt(claims: unknown, path: string): unknown {
  if (typeof claims !== 'object' || claims === null) return undefined
  if (Object.hasOwn(claims, path)) return Reflect.get(claims, path)
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const found = claimAt(Reflect.get(claims, path.slice(0, dot)), path.slice(dot + 1))
    if (found !== undefined) return found
  }
  return undefined
}

/** The values of a claim; undefined where there is none. */
export function valuesOf(claims: Claims, path: string): string[] | undefined {
  const found = claimAt(claims, path)
  if (found === undefined || found === null) return undefined
  return (Array.isArray(found) ? found : [found]).map(String)
}

/**
 * Whether the provider has left out groups because they are too many. They are somewhere else then, which is not the same
 * as having none.
 */
export function hasOverage(claims: Claims, path: string): boolean {
  const { _claim_names: elsewhere, hasgroups } = claims
  return (
    (typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, path)) ||
    (path === 'groups' && hasgroups !== undefined && String(hasgroups) !== 'false')
  )
}

export function grantsFor(rules: readonly string[], values: readonly string[]): Grant[] {
  const found = rules.flatMap((text) => {
    const rule = readRule(text)
    return rule && (rule.value === '*' || values.includes(rule.value)) ? [rule.grant] : []
  })
  return [...new Map(found.map((grant) => [`${grant.role} ${grant.scope}`, grant])).values()]
}

const maxName = 64

/** What users are called here: as there, as far as names may be here, or else with a mark that nobody else has. */
export function namesFor(claims: Claims, mark: string): string[] {
  const label = [claims.preferred_username, claims.email, claims.name].find(
    (name) => typeof name === 'string' && name !== '',
  )
  const name = String(label ?? 'user').replace(/[^\w.@-]+/g, '-')
  const base = name.replace(/^[.-]+|[.-]+$/g, '') || 'user'
  return [base.slice(0, maxName), `${base.slice(0, maxName - mark.length - 1)}-${mark}`]
}
