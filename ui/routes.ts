import { base } from './base.ts'

/** A location within the page. */
export type Route =
  | { screen: 'projects' | 'play' | 'engine' | 'people' | 'invitations' | 'budgets' | 'audit' | 'me' }
  | { screen: 'calls' | 'threads' | 'thread' | 'agents' | 'agent' | 'charts' | 'search'; project: string }
  | { screen: 'evals' | 'compare' | 'queues' | 'objects'; project: string }
  | { screen: 'newRun' | 'judges' | 'judge' | 'monitors' | 'datasets'; project: string }
  | { screen: 'alerts' | 'endpoints' | 'deliveries' | 'prices'; project: string }
  | { screen: 'trace'; project: string; trace: string }
  | { screen: 'call'; project: string; call: string }
  | { screen: 'calibration'; project: string; judge: string }
  | { screen: 'monitor'; project: string; monitor: string }
  | { screen: 'queue' | 'review'; project: string; queue: string }
  | { screen: 'object'; project: string; object: string }
  | { screen: 'prompts'; project: string; prompt?: string }
  | { screen: 'nowhere'; path: string }

type Names = Record<string, string>

/** The names in a pattern are members of the route. The links that the clients of Weave print do not start with /ui. */
const table: Record<string, Route['screen']> = {
  '/': 'projects',
  '/ui': 'projects',
  '/ui/play': 'play',
  '/ui/engine': 'engine',
  '/ui/people': 'people',
  '/ui/people/invitations': 'invitations',
  '/ui/people/budgets': 'budgets',
  '/ui/people/audit': 'audit',
  '/ui/me': 'me',
  '/ui/:entity/:name': 'calls',
  '/ui/:entity/:name/calls': 'calls',
  '/ui/:entity/:name/trace/:trace': 'trace',
  '/ui/:entity/:name/call/:call': 'call',
  '/ui/:entity/:name/conversations': 'threads',
  '/ui/:entity/:name/conversation': 'thread',
  '/ui/:entity/:name/agents': 'agents',
  '/ui/:entity/:name/agent': 'agent',
  '/ui/:entity/:name/evals': 'evals',
  '/ui/:entity/:name/evals/compare': 'compare',
  '/ui/:entity/:name/evals/new': 'newRun',
  '/ui/:entity/:name/judges': 'judges',
  '/ui/:entity/:name/judges/new': 'judge',
  '/ui/:entity/:name/calibrations/:judge': 'calibration',
  '/ui/:entity/:name/monitors': 'monitors',
  '/ui/:entity/:name/monitors/:monitor': 'monitor',
  '/ui/:entity/:name/datasets': 'datasets',
  '/ui/:entity/:name/search': 'search',
  '/ui/:entity/:name/charts': 'charts',
  '/ui/:entity/:name/queues': 'queues',
  '/ui/:entity/:name/queues/:queue': 'queue',
  '/ui/:entity/:name/queues/:queue/review': 'review',
  '/ui/:entity/:name/objects': 'objects',
  '/ui/:entity/:name/data/:object': 'object',
  '/ui/:entity/:name/prompts': 'prompts',
  '/ui/:entity/:name/prompts/:prompt': 'prompts',
  '/ui/:entity/:name/alerts': 'alerts',
  '/ui/:entity/:name/alerts/endpoints': 'endpoints',
  '/ui/:entity/:name/alerts/deliveries': 'deliveries',
  '/ui/:entity/:name/prices': 'prices',
  '/:entity/:name/r/call/:call': 'call',
  '/:entity/:name/weave/calls/:call': 'call',
  '/:entity/:name/weave': 'calls',
  '/:entity/:name/weave/calls': 'calls',
  '/:entity/:name/weave/traces': 'calls',
}

export function routeOf(path: string): Route {
  const below = path.startsWith(`${base}/`) ? path.slice(base.length) : path
  const parts = below.split('/').filter(Boolean)
  for (const [pattern, screen] of Object.entries(table)) {
    const names = match(pattern.split('/').filter(Boolean), parts)
    if (names === undefined) continue
    const { entity, name, ...own } = names
    return { screen, ...(entity !== undefined && { project: `${entity}/${name}` }), ...own } as Route
  }
  return { screen: 'nowhere', path }
}

function match(pattern: readonly string[], parts: readonly string[]): Names | undefined {
  if (pattern.length !== parts.length) return undefined
  const names: Names = {}
  for (const [index, one] of pattern.entries()) {
    const part = parts[index] as string
    if (!one.startsWith(':')) {
      if (one !== part) return undefined
      continue
    }
    try {
      names[one.slice(1)] = decodeURIComponent(part)
    } catch {
      // A malformed percent escape is no address of the page.
      return undefined
    }
  }
  return names
}

/** As the server takes them: spaces only within the name behind the slash. */
export const isProject = (text: string): boolean =>
  text.length <= 256 && /^[^/\s]+\/[^/\s]+(?: +[^/\s]+)*$/.test(text)

const segment = (text: string) => encodeURIComponent(text)
const projectPath = (project: string) => `${base}/ui/${project.split('/').map(segment).join('/')}`
const screenAt =
  (path: string) =>
  (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/${path}${searchText(search)}`

export const paths = {
  projects: `${base}/ui/`,
  engine: `${base}/ui/engine`,
  people: `${base}/ui/people`,
  invitations: `${base}/ui/people/invitations`,
  budgets: `${base}/ui/people/budgets`,
  audit: (search: Record<string, string> = {}) => `${base}/ui/people/audit${searchText(search)}`,
  me: `${base}/ui/me`,
  calls: screenAt('calls'),
  trace: (project: string, trace: string, call?: string) =>
    `${projectPath(project)}/trace/${segment(trace)}${searchText(call === undefined ? {} : { call })}`,
  play: (search: Record<string, string> = {}) => `${base}/ui/play${searchText(search)}`,
  call: (project: string, call: string) => `${projectPath(project)}/call/${segment(call)}`,
  threads: screenAt('conversations'),
  /** The thread is no part of the path: it may be any text, such as two dots. */
  thread: (project: string, thread: string, turn?: string) =>
    `${projectPath(project)}/conversation${searchText({ thread, ...(turn !== undefined && { turn }) })}`,
  agents: screenAt('agents'),
  agent: (project: string, agent: string, range: string) =>
    `${projectPath(project)}/agent${searchText({ agent, range })}`,
  evals: screenAt('evals'),
  compare: screenAt('evals/compare'),
  newRun: screenAt('evals/new'),
  judges: screenAt('judges'),
  newJudge: screenAt('judges/new'),
  calibration: (project: string, judge: string) => `${projectPath(project)}/calibrations/${segment(judge)}`,
  monitors: screenAt('monitors'),
  monitor: (project: string, monitor: string) => `${projectPath(project)}/monitors/${segment(monitor)}`,
  datasets: screenAt('datasets'),
  charts: screenAt('charts'),
  search: screenAt('search'),
  queues: screenAt('queues'),
  queue: (project: string, queue: string) => `${projectPath(project)}/queues/${segment(queue)}`,
  review: (project: string, queue: string, item?: string) =>
    `${projectPath(project)}/queues/${segment(queue)}/review${searchText(item === undefined ? {} : { item })}`,
  objects: screenAt('objects'),
  object: (project: string, object: string, version?: string) =>
    `${projectPath(project)}/data/${segment(object)}${searchText(version === undefined ? {} : { v: version })}`,
  prompts: (project: string, prompt?: string) =>
    `${projectPath(project)}/prompts${prompt === undefined ? '' : `/${segment(prompt)}`}`,
  alerts: screenAt('alerts'),
  endpoints: screenAt('alerts/endpoints'),
  deliveries: screenAt('alerts/deliveries'),
  prices: (project: string, model?: string) =>
    `${projectPath(project)}/prices${searchText(model === undefined ? {} : { model })}`,
}

function searchText(search: Record<string, string>): string {
  const text = new URLSearchParams(search).toString()
  return text === '' ? '' : `?${text}`
}
