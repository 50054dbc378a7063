import { paths, type Route } from './routes.ts'
import { may } from './server/rights.ts'

export interface Section {
  name: string
  /** Where it stands alone, if the name does not say enough there. */
  fullName?: string
  path(project: string): string
  /** The screens that belong to it. */
  screens: readonly Route['screen'][]
}

/** The sections of a project, in the order of the bar. */
const sections: readonly Section[] = [
  { name: 'Calls', path: (project) => paths.calls(project), screens: ['calls', 'trace', 'call'] },
  { name: 'Conversations', path: (project) => paths.threads(project), screens: ['threads', 'thread'] },
  { name: 'Agents', path: (project) => paths.agents(project), screens: ['agents', 'agent'] },
  { name: 'Search', path: (project) => paths.search(project), screens: ['search'] },
  { name: 'Charts', path: (project) => paths.charts(project), screens: ['charts'] },
  {
    name: 'Quality',
    path: (project) => paths.evals(project),
    screens: [
      'evals',
      'compare',
      'newRun',
      'judges',
      'judge',
      'calibration',
      'monitors',
      'monitor',
      'datasets',
    ],
  },
  { name: 'Queues', path: (project) => paths.queues(project), screens: ['queues', 'queue', 'review'] },
  { name: 'Prompts', path: (project) => paths.prompts(project), screens: ['prompts'] },
  { name: 'Objects', path: (project) => paths.objects(project), screens: ['objects', 'object'] },
  {
    name: 'Settings',
    path: (project) => paths.alerts(project),
    screens: ['alerts', 'endpoints', 'deliveries', 'prices'],
  },
]

/** Those that the user may read: annotators read queues. */
export const sectionsOf = (project: string): readonly Section[] =>
  may('read', project) ? sections : sections.filter(({ screens }) => screens.includes('queues'))

/** Where a project is opened. */
export const homeOf = (project: string): string => sectionsOf(project)[0]?.path(project) ?? paths.projects

/** The lists of Settings; who sends what where is for those who may change it. */
export const settingsLists = (project: string): readonly Section[] => [
  { name: 'Alerts', path: () => paths.alerts(project), screens: ['alerts'] },
  ...(may('write', project)
    ? [
        {
          name: 'Endpoints',
          fullName: 'Alert endpoints',
          path: () => paths.endpoints(project),
          screens: ['endpoints'],
        } as const,
      ]
    : []),
  {
    name: 'Deliveries',
    fullName: 'Alert deliveries',
    path: () => paths.deliveries(project),
    screens: ['deliveries'],
  },
  { name: 'Prices', path: () => paths.prices(project), screens: ['prices'] },
]

/** The lists of the server that the user may read. */
export const serverLists = (): readonly Section[] => [
  ...(may('operate') ? [{ name: 'Users', path: () => paths.people, screens: ['people'] } as const] : []),
  ...(may('administer')
    ? [{ name: 'Invitations', path: () => paths.invitations, screens: ['invitations'] } as const]
    : []),
  { name: 'Budgets', path: () => paths.budgets, screens: ['budgets'] },
  ...(may('operate') ? [{ name: 'Audit', path: () => paths.audit(), screens: ['audit'] } as const] : []),
]

/** The lists of Quality, which know each other. */
export const qualityLists: readonly Section[] = [
  { name: 'Runs', fullName: 'Evaluation runs', path: (project) => paths.evals(project), screens: ['evals'] },
  { name: 'Judges', path: (project) => paths.judges(project), screens: ['judges'] },
  { name: 'Monitors', path: (project) => paths.monitors(project), screens: ['monitors'] },
  { name: 'Datasets', path: (project) => paths.datasets(project), screens: ['datasets'] },
]
