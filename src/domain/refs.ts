import { isUtf8 } from 'node:buffer'

/** A ref to something in the record, such as `weave:///acme/qa/object/capitals:Wq…/attr/rows/id/YTY…`. */
export type Ref = {
  scheme: string
  /** `<entity>/<project>` */
  project: string
} & (
  | { kind: 'object' | 'op'; name: string; digest: string; path: RefStep[] }
  | { kind: 'call'; id: string }
  /** A conversation: whoever records its calls chose the id. */
  | { kind: 'thread'; id: string }
  | { kind: 'table'; digest: string }
  | { kind: 'other' }
)

/** A step of the path into a value: `attr/rows`, `key/a`, `index/0`, `id/<row digest>`. */
export interface RefStep {
  edge: 'attr' | 'key' | 'index' | 'id'
  value: string
}

const edges = ['attr', 'key', 'index', 'id']

/** A single word: a ref whose id is followed by a slash, a colon or a space names no call. */
const callIdForm = /^[\w-]+$/

/**
 * Accepts any scheme: clients that use the same protocol under other names send their own. Undefined for other texts.
 */
export function parseRef(text: string): Ref | undefined {
  const match = /^([a-z][a-z0-9+.-]*):\/\/\/([^/]+\/[^/]+)\/([^/]+)\/(.+)$/.exec(text)
  if (match === null) return undefined
  const [, scheme = '', project = '', kind = '', tail = ''] = match
  const base = { scheme, project }
  const segments = tail.split('/')
  switch (kind) {
    case 'object':
    case 'op':
      return named(segments, { ...base, kind })
    case 'call':
      return callIdForm.test(tail) ? { ...base, kind, id: tail } : undefined
    case 'thread':
      return { ...base, kind, id: decoded(tail) }
    case 'table':
      return segments.length === 1 ? { ...base, kind, digest: tail } : undefined
    default:
      return { ...base, kind: 'other' }
  }
}

function named(
  [head = '', ...rest]: string[],
  base: { scheme: string; project: string; kind: 'object' | 'op' },
): Ref | undefined {
  const colon = head.indexOf(':')
  const name = colon === -1 ? head : head.slice(0, colon)
  const digest = colon === -1 ? 'latest' : head.slice(colon + 1)
  if (name === '' || digest === '' || digest.includes(':') || rest.length % 2 === 1) return undefined
  const path: RefStep[] = []
  for (let i = 0; i < rest.length; i += 2) {
    const edge = rest[i] as RefStep['edge']
    const value = decoded(rest[i + 1] as string)
    if (!edges.includes(edge) || (edge === 'index' && !/^\d+$/.test(value))) return undefined
    path.push({ edge, value })
  }
  return { ...base, name: decoded(name), digest, path }
}

/** Escapes that encode no character stay as they are: some clients write keys without encoding them. */
function decoded(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (escapes) => {
    const bytes = Buffer.from(escapes.replaceAll('%', ''), 'hex')
    return isUtf8(bytes) ? bytes.toString() : escapes
  })
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

export function tableRef(scheme: string, project: string, digest: string): string {
  return `${scheme}:///${project}/table/${digest}`
}

export function callRef(scheme: string, project: string, id: string): string {
  return `${scheme}:///${project}/call/${id}`
}

/** The name of an op, given as a name or as a ref such as `weave:///acme/qa/op/answer:4f5…`. */
export function opNameOf(op: string): string {
  const start = op.includes(':///') ? op.indexOf('/op/') : -1
  if (start === -1) return op
  const tail = op.slice(start + 4)
  const end = tail.indexOf(':')
  return end === -1 ? tail : tail.slice(0, end)
}
