/** A reference to a thing of the record, such as `weave:///acme/qa/object/capitals:Wq…/attr/rows/id/YTY…`. */
export type Ref = { scheme: string; entity: string; project: string } & (
  | { kind: 'object' | 'op'; name: string; digest: string; path: RefStep[] }
  | { kind: 'call'; id: string }
  | { kind: 'table'; digest: string }
  | { kind: 'other' }
)

/** A step into the value: `attr/rows`, `key/a`, `index/0`, `id/<row digest>`. */
export interface RefStep {
  edge: 'attr' | 'key' | 'index' | 'id'
  value: string
}

const edges = ['attr', 'key', 'index', 'id']

/** Any scheme is read; clients of other names for the same wire send theirs. Undefined when the text is no reference. */
export function parseRef(text: string): Ref | undefined {
  const match = /^([a-z][a-z0-9+.-]*):\/\/\/([^/]+)\/([^/]+)\/([^/]+)\/(.+)$/.exec(text)
  if (match === null) return undefined
  const [, scheme = '', entity = '', project = '', kind = '', tail = ''] = match
  const place = { scheme, entity, project }
  const parts = tail.split('/')
  switch (kind) {
    case 'object':
    case 'op':
      return named(parts, { ...place, kind })
    case 'call':
      return { ...place, kind, id: tail }
    case 'table':
      return parts.length === 1 ? { ...place, kind, digest: tail } : undefined
    default:
      return { ...place, kind: 'other' }
  }
}

function named(
  [head = '', ...rest]: string[],
  place: { scheme: string; entity: string; project: string; kind: 'object' | 'op' },
): Ref | undefined {
  const colon = head.indexOf(':')
  const name = colon === -1 ? head : head.slice(0, colon)
  const digest = colon === -1 ? 'latest' : head.slice(colon + 1)
  if (name === '' || digest === '' || digest.includes(':') || rest.length % 2 === 1) return undefined
  const path: RefStep[] = []
  for (let i = 0; i < rest.length; i += 2) {
    const edge = rest[i] as RefStep['edge']
    const value = decoded(rest[i + 1] as string)
    if (!edges.includes(edge) || value === undefined || (edge === 'index' && !/^\d+$/.test(value)))
      return undefined
    path.push({ edge, value })
  }
  return { ...place, name: decoded(name) ?? name, digest, path }
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return undefined
    throw error
  }
}

function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

export function objectRef(
  scheme: string,
  project: string,
  kind: 'object' | 'op',
  name: string,
  digest: string,
): string {
  return `${scheme}:///${project}/${kind}/${encoded(name)}:${digest}`
}

export function callRef(scheme: string, project: string, id: string): string {
  return `${scheme}:///${project}/call/${id}`
}
