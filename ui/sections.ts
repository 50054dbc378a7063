import { signal } from '@preact/signals'
import type { Right } from '../src/domain/roles.ts'
import { paths, type Route } from './routes.ts'
import { may } from './server/rights.ts'

export interface Section {
  name: string
  /** Where it stands alone, if the name does not say enough there. */
  fullName?: string
  path(project: string): string
  /** The screens that belong to it. */
  screens: readonly Route['screen'][]
  /** What a user may do who sees it, if not everybody. */
  right?: Right
}

/** The sections of a project, in the order of the bar. */
const sections: readonly Section[] = [
  { name: 'Calls', path: paths.calls, screens: ['calls', 'trace', 'call'] },
  { name: 'Conversations', path: paths.threads, screens: ['threads', 'thread'] },
  { name: 'Agents', path: paths.agents, screens: ['agents', 'agent'] },
  { name: 'Search', path: paths.search, screens: ['search'] },
  { name: 'Charts', path: paths.charts, screens: ['charts'] },
  {
    name: 'Quality',
    path: paths.evals,
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
  { name: 'Queues', path: paths.queues, screens: ['queues', 'queue', 'review'] },
  { name: 'Prompts', path: paths.prompts, screens: ['prompts'] },
  { name: 'Objects', path: paths.objects, screens: ['objects'] },
  { name: 'Settings', path: paths.alerts, screens: ['alerts', 'endpoints', 'deliveries', 'prices'] },
]

/** Class of the object that is open, once it is known. */
export const openClass = signal<string | undefined>(undefined)

const listsOfClasses: Record<string, Route['screen']> = {
  ...{ Dataset: 'datasets', Scorer: 'judges', Prompt: 'prompts' },
}

/** An object is where its list is: a dataset is of Quality. */
export const listOf = (objectClass: string | null | undefined): Route['screen'] =>
  listsOfClasses[objectClass ?? ''] ?? 'objects'

export const isCurrent = ({ screens }: Section, { screen }: Route): boolean =>
  screen !== 'object'
    ? screens.includes(screen)
    : openClass.value !== undefined && screens.includes(listOf(openClass.value))

/** Those that the user may read: annotators read queues. */
export const sectionsOf = (project: string): readonly Section[] =>
  may('read', project) ? sections : sections.filter(({ screens }) => screens.includes('queues'))

/** Where a project is opened. */
export const homeOf = (project: string): string => sectionsOf(project)[0]?.path(project) ?? paths.projects

/** The lists of Settings; who sends what where is for those who may change it. */
export const settingsLists = (project: string): readonly Section[] => seen(settings, project)

const settings: readonly Section[] = [
  { name: 'Alerts', path: paths.alerts, screens: ['alerts'] },
  {
    ...{ name: 'Endpoints', fullName: 'Alert endpoints', right: 'write' },
    ...{ path: paths.endpoints, screens: ['endpoints'] },
  },
  { name: 'Deliveries', fullName: 'Alert deliveries', path: paths.deliveries, screens: ['deliveries'] },
  { name: 'Prices', path: paths.prices, screens: ['prices'] },
]

/** The lists of the server that the user may read. */
export const serverLists = (): readonly Section[] => seen(ofServer)

const ofServer: readonly Section[] = [
  {
    ...{ name: 'Users', fullName: 'People: users', right: 'operate' },
    ...{ path: () => paths.people, screens: ['people'] },
  },
  { name: 'Invitations', path: () => paths.invitations, screens: ['invitations'], right: 'administer' },
  { name: 'Budgets', path: () => paths.budgets, screens: ['budgets'] },
  { name: 'Audit', path: () => paths.audit(), screens: ['audit'], right: 'operate' },
]

const seen = (lists: readonly Section[], project?: string): readonly Section[] =>
  lists.filter(({ right }) => right === undefined || may(right, project))

/** The lists of Quality, which know each other. */
export const qualityLists: readonly Section[] = [
  { name: 'Runs', fullName: 'Evaluation runs', path: paths.evals, screens: ['evals'] },
  { name: 'Judges', path: paths.judges, screens: ['judges'] },
  { name: 'Monitors', path: paths.monitors, screens: ['monitors'] },
  { name: 'Datasets', path: paths.datasets, screens: ['datasets'] },
]
