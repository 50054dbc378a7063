import { paths, routeOf } from '../routes.ts'
import { parseRef } from '../value/ref.ts'

/** A link to something whose kind is known. */
export interface Named {
  text: string
  hint: string
  path: string
}

/** What a text names: an id from a log, a reference, a link, a line of a log, a call as JSON. */
export interface Names {
  /** References, links and parents of traces. */
  named: Named[]
  /** Ids that may be of anything. */
  ids: string[]
  /** The project that the text names. */
  project: string | undefined
}

/** Names that are read from one text: the first ones. */
const mostNames = 8

/** The length of a scheme is bounded, because the search for one starts at every word. */
const refs = /\b[a-z][a-z0-9+.-]{0,20}:\/\/\/[^\s"'<>,;()]+/g
const links = /https?:\/\/[^\s"'<>]+/g
const traceparents = /\b[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}\b/g
const uuids = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi
const projects = /"project_id"\s*:\s*"([^"/\s]+\/[^"/\s]+)"/
/** Ids of spans and traces, and digests. */
const plainIds = /(?<![\w-])(?:[0-9a-f]{16}|[0-9a-f]{32}|[0-9A-Za-z]{43})(?![\w-])/g

export function namesIn(text: string): Names {
  let rest = text
  /** What has been recognized is not looked at again. */
  const take = (form: RegExp): RegExpMatchArray[] => {
    const found = [...rest.matchAll(form)]
    rest = rest.replaceAll(form, ' ')
    return found
  }
  const named = [
    ...take(refs).map(([ref]) => namedByRef(ref)),
    ...take(links).map(([url]) => namedByLink(url)),
  ]
  const parents = take(traceparents).flatMap(([, trace = '', span = '']) => [span, trace])
  const ids = [...parents, ...take(uuids).map(([id]) => id), ...take(plainIds).map(([id]) => id)]
  return {
    named: named.filter((one) => one !== undefined).slice(0, mostNames),
    ids: [...new Set(ids)].slice(0, mostNames),
    project: projects.exec(text)?.[1],
  }
}

function namedByRef(ref: string): Named | undefined {
  const { project, kind, name, version } = parseRef(ref) ?? {}
  if (project === undefined || name === undefined || kind === 'table') return undefined
  if (kind === 'call') return { text: `Call ${name}`, hint: project, path: paths.call(project, name) }
  const text = kind === 'op' ? `Op ${name}` : `Object ${name}`
  return { text, hint: project, path: paths.object(project, name, version || undefined) }
}

/** A link to this page, to another Heddle server, or one in the form that clients of Weave print. */
function namedByLink(given: string): Named | undefined {
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (url === undefined) return undefined
  const object = /^\/([^/]+)\/([^/]+)\/weave\/objects\/([^/]+)(?:\/versions\/([^/]+))?$/.exec(url.pathname)
  if (object) {
    const [, entity, name, given = '', version] = object
    const id = decoded(given)
    if (id === undefined) return undefined
    const path = paths.object(`${entity}/${name}`, id, version)
    return { text: `Object ${id}`, hint: `${entity}/${name}`, path }
  }
  const { screen } = routeOf(url.pathname)
  if (screen === 'nowhere' || screen === 'projects') return undefined
  const path = `${url.pathname}${url.search}`
  return { text: 'Open this link here', hint: path, path }
}

/** A percent sign that encodes nothing is part of no name. */
function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
