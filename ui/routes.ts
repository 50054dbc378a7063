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
  | { screen: 'prompts'; project: string; prompt: string | undefined }
  | { screen: 'nowhere'; path: string }

type Names = Record<string, string>

/** The links that the clients of Weave print do not start with /ui. */
const table: [pattern: string, place: (names: Names) => Route][] = [
  ['/', () => ({ screen: 'projects' })],
  ['/ui', () => ({ screen: 'projects' })],
  ['/ui/play', () => ({ screen: 'play' })],
  ['/ui/engine', () => ({ screen: 'engine' })],
  ['/ui/people', () => ({ screen: 'people' })],
  ['/ui/people/invitations', () => ({ screen: 'invitations' })],
  ['/ui/people/budgets', () => ({ screen: 'budgets' })],
  ['/ui/people/audit', () => ({ screen: 'audit' })],
  ['/ui/me', () => ({ screen: 'me' })],
  ['/ui/:entity/:name', (names) => ({ screen: 'calls', project: projectIn(names) })],
  ['/ui/:entity/:name/calls', (names) => ({ screen: 'calls', project: projectIn(names) })],
  [
    '/ui/:entity/:name/trace/:trace',
    (names) => ({ screen: 'trace', project: projectIn(names), trace: names.trace ?? '' }),
  ],
  ['/ui/:entity/:name/call/:call', (names) => callIn(names)],
  ['/ui/:entity/:name/conversations', (names) => ({ screen: 'threads', project: projectIn(names) })],
  ['/ui/:entity/:name/conversation', (names) => ({ screen: 'thread', project: projectIn(names) })],
  ['/ui/:entity/:name/agents', (names) => ({ screen: 'agents', project: projectIn(names) })],
  ['/ui/:entity/:name/agent', (names) => ({ screen: 'agent', project: projectIn(names) })],
  ['/ui/:entity/:name/evals', (names) => ({ screen: 'evals', project: projectIn(names) })],
  ['/ui/:entity/:name/evals/compare', (names) => ({ screen: 'compare', project: projectIn(names) })],
  ['/ui/:entity/:name/evals/new', (names) => ({ screen: 'newRun', project: projectIn(names) })],
  ['/ui/:entity/:name/judges', (names) => ({ screen: 'judges', project: projectIn(names) })],
  ['/ui/:entity/:name/judges/new', (names) => ({ screen: 'judge', project: projectIn(names) })],
  [
    '/ui/:entity/:name/calibrations/:judge',
    (names) => ({ screen: 'calibration', project: projectIn(names), judge: names.judge ?? '' }),
  ],
  ['/ui/:entity/:name/monitors', (names) => ({ screen: 'monitors', project: projectIn(names) })],
  [
    '/ui/:entity/:name/monitors/:monitor',
    (names) => ({ screen: 'monitor', project: projectIn(names), monitor: names.monitor ?? '' }),
  ],
  ['/ui/:entity/:name/datasets', (names) => ({ screen: 'datasets', project: projectIn(names) })],
  ['/ui/:entity/:name/search', (names) => ({ screen: 'search', project: projectIn(names) })],
  ['/ui/:entity/:name/charts', (names) => ({ screen: 'charts', project: projectIn(names) })],
  ['/ui/:entity/:name/queues', (names) => ({ screen: 'queues', project: projectIn(names) })],
  [
    '/ui/:entity/:name/queues/:queue',
    (names) => ({ screen: 'queue', project: projectIn(names), queue: names.queue ?? '' }),
  ],
  [
    '/ui/:entity/:name/queues/:queue/review',
    (names) => ({ screen: 'review', project: projectIn(names), queue: names.queue ?? '' }),
  ],
  ['/ui/:entity/:name/objects', (names) => ({ screen: 'objects', project: projectIn(names) })],
  [
    '/ui/:entity/:name/data/:object',
    (names) => ({ screen: 'object', project: projectIn(names), object: names.object ?? '' }),
  ],
  ['/ui/:entity/:name/prompts', (names) => promptsIn(names)],
  ['/ui/:entity/:name/prompts/:prompt', (names) => promptsIn(names)],
  ['/ui/:entity/:name/alerts', (names) => ({ screen: 'alerts', project: projectIn(names) })],
  ['/ui/:entity/:name/alerts/endpoints', (names) => ({ screen: 'endpoints', project: projectIn(names) })],
  ['/ui/:entity/:name/alerts/deliveries', (names) => ({ screen: 'deliveries', project: projectIn(names) })],
  ['/ui/:entity/:name/prices', (names) => ({ screen: 'prices', project: projectIn(names) })],
  ['/:entity/:name/r/call/:call', (names) => callIn(names)],
  ['/:entity/:name/weave/calls/:call', (names) => callIn(names)],
  ['/:entity/:name/weave', (names) => ({ screen: 'calls', project: projectIn(names) })],
  ['/:entity/:name/weave/calls', (names) => ({ screen: 'calls', project: projectIn(names) })],
  ['/:entity/:name/weave/traces', (names) => ({ screen: 'calls', project: projectIn(names) })],
]

const projectIn = ({ entity, name }: Names) => `${entity}/${name}`
const callIn = (names: Names): Route => ({
  screen: 'call',
  project: projectIn(names),
  call: names.call ?? '',
})

const promptsIn = (names: Names): Route => ({
  screen: 'prompts',
  project: projectIn(names),
  prompt: names.prompt,
})

export function routeOf(path: string): Route {
  const below = path.startsWith(`${base}/`) ? path.slice(base.length) : path
  const parts = below.split('/').filter(Boolean)
  for (const [pattern, place] of table) {
    const names = match(pattern.split('/').filter(Boolean), parts)
    if (names !== undefined) return place(names)
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

export const paths = {
  projects: `${base}/ui/`,
  engine: `${base}/ui/engine`,
  people: `${base}/ui/people`,
  invitations: `${base}/ui/people/invitations`,
  budgets: `${base}/ui/people/budgets`,
  audit: (search: Record<string, string> = {}) => `${base}/ui/people/audit${searchText(search)}`,
  me: `${base}/ui/me`,
  calls: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/calls${searchText(search)}`,
  trace: (project: string, trace: string, call?: string) =>
    `${projectPath(project)}/trace/${segment(trace)}${searchText(call === undefined ? {} : { call })}`,
  play: (search: Record<string, string> = {}) => `${base}/ui/play${searchText(search)}`,
  call: (project: string, call: string) => `${projectPath(project)}/call/${segment(call)}`,
  threads: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/conversations${searchText(search)}`,
  /** The thread is no part of the path: it may be any text, such as two dots. */
  thread: (project: string, thread: string, turn?: string) =>
    `${projectPath(project)}/conversation${searchText({ thread, ...(turn !== undefined && { turn }) })}`,
  agents: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/agents${searchText(search)}`,
  agent: (project: string, agent: string, range: string) =>
    `${projectPath(project)}/agent${searchText({ agent, range })}`,
  evals: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/evals${searchText(search)}`,
  compare: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/evals/compare${searchText(search)}`,
  newRun: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/evals/new${searchText(search)}`,
  judges: (project: string) => `${projectPath(project)}/judges`,
  newJudge: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/judges/new${searchText(search)}`,
  calibration: (project: string, judge: string) => `${projectPath(project)}/calibrations/${segment(judge)}`,
  monitors: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/monitors${searchText(search)}`,
  monitor: (project: string, monitor: string) => `${projectPath(project)}/monitors/${segment(monitor)}`,
  datasets: (project: string) => `${projectPath(project)}/datasets`,
  charts: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/charts${searchText(search)}`,
  search: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/search${searchText(search)}`,
  queues: (project: string) => `${projectPath(project)}/queues`,
  queue: (project: string, queue: string) => `${projectPath(project)}/queues/${segment(queue)}`,
  review: (project: string, queue: string, item?: string) =>
    `${projectPath(project)}/queues/${segment(queue)}/review${searchText(item === undefined ? {} : { item })}`,
  objects: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/objects${searchText(search)}`,
  object: (project: string, object: string, version?: string) =>
    `${projectPath(project)}/data/${segment(object)}${searchText(version === undefined ? {} : { v: version })}`,
  prompts: (project: string, prompt?: string) =>
    `${projectPath(project)}/prompts${prompt === undefined ? '' : `/${segment(prompt)}`}`,
  alerts: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/alerts${searchText(search)}`,
  endpoints: (project: string) => `${projectPath(project)}/alerts/endpoints`,
  deliveries: (project: string, search: Record<string, string> = {}) =>
    `${projectPath(project)}/alerts/deliveries${searchText(search)}`,
  prices: (project: string, model?: string) =>
    `${projectPath(project)}/prices${searchText(model === undefined ? {} : { model })}`,
}

function searchText(search: Record<string, string>): string {
  const text = new URLSearchParams(search).toString()
  return text === '' ? '' : `?${text}`
}
