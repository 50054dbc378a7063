/** From the lowest to the highest. */
export const roles = ['viewer', 'annotator', 'editor', 'admin'] as const
export type Role = (typeof roles)[number]

/** Of users from before there were grants, and of those of HEDDLE_USERS: `member` is an editor of its entities. */
export type ServerRole = 'member' | 'admin'

/** A role in an entity, in one project (`<entity>/<project>`), or in everything (`*`). */
export interface Grant {
  scope: string
  role: Role
}

/** What a route does, and the roles that may do it. The first role is the lowest that suffices. */
export const rights = {
  own: roles,
  keys: roles,
  read_queues: roles,
  read: ['viewer', 'editor', 'admin'],
  review: ['annotator', 'editor', 'admin'],
  export: ['editor', 'admin'],
  infer: ['editor', 'admin'],
  write_calls: ['editor', 'admin'],
  write: ['editor', 'admin'],
  administer: ['admin'],
  scrape: ['admin'],
  operate: ['admin'],
} as const satisfies Record<string, readonly Role[]>

export type Right = keyof typeof rights

/** Of the whole server: a grant for `*` has them, none for an entity or a project. */
export const rightsOfServer: readonly Right[] = ['scrape', 'operate']

/** What a key may be limited to. Every key may ask who it is, and who reads or reviews may read queues. */
export const scopes = [
  'read',
  'review',
  'export',
  'infer',
  'write_calls',
  'write',
  'keys',
  'administer',
  'scrape',
  'operate',
] as const satisfies readonly Right[]
export type Scope = (typeof scopes)[number]

/** Grants never take away: a right holds if any of the roles has it. */
export const mayWith = (held: readonly Role[], right: Right): boolean =>
  held.some((role) => (rights[right] as readonly Role[]).includes(role))

/** What a grant lets its user do; only an admin of everything operates the server. */
export const rightsOf = ({ scope, role }: Grant): Right[] =>
  (Object.keys(rights) as Right[]).filter(
    (right) => mayWith([role], right) && (scope === '*' || !rightsOfServer.includes(right)),
  )

/** Whether a grant for `scope` is also one for the entity, project or `*` that is named. */
export const covers = (scope: string, named: string): boolean =>
  scope === '*' || scope === named || named.startsWith(`${scope}/`)

/** The highest of the roles. */
export const highestOf = (held: readonly Role[]): Role | undefined =>
  roles.findLast((role) => held.includes(role))

interface Granted {
  role: ServerRole
  entities: Iterable<string>
  /** Absent for users that have a role and entities only. */
  grants?: readonly Grant[]
}

export function grantsOf({ role, entities, grants }: Granted): readonly Grant[] {
  if (grants !== undefined) return grants
  return [...entities].map((scope) => ({ scope, role: role === 'admin' ? 'admin' : 'editor' }))
}

/** Role and entities of a user with these grants, for what knows only those: never more than the grants say. */
export function summaryOf(grants: readonly Grant[]): { role: ServerRole; entities: string[] } {
  const isAdmin = grants.some(({ scope, role }) => scope === '*' && role === 'admin')
  const whole = grants.filter(({ scope, role }) => mayWith([role], 'write') && !scope.includes('/'))
  return { role: isAdmin ? 'admin' : 'member', entities: [...new Set(whole.map(({ scope }) => scope))] }
}
