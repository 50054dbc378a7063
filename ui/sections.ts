import { paths, type Route } from './routes.ts'

interface Section {
  name: string
  path(project: string): string
  /** The screens that belong to it. */
  screens: readonly Route['screen'][]
}

/** The sections of a project, in the order of the bar. */
export const sections: readonly Section[] = [
  { name: 'Calls', path: (project) => paths.calls(project), screens: ['calls', 'trace', 'call'] },
  { name: 'Conversations', path: (project) => paths.threads(project), screens: ['threads', 'thread'] },
  { name: 'Search', path: (project) => paths.search(project), screens: ['search'] },
  { name: 'Charts', path: (project) => paths.charts(project), screens: ['charts'] },
  {
    name: 'Quality',
    path: (project) => paths.evals(project),
    screens: ['evals', 'compare', 'newRun', 'judges', 'judge', 'monitors', 'monitor', 'datasets'],
  },
  { name: 'Queues', path: (project) => paths.queues(project), screens: ['queues', 'queue', 'review'] },
  { name: 'Objects', path: (project) => paths.objects(project), screens: ['objects', 'object'] },
]

/** The lists of Quality, which know each other. */
export const qualityLists: readonly Section[] = [
  { name: 'Runs', path: (project) => paths.evals(project), screens: ['evals'] },
  { name: 'Judges', path: (project) => paths.judges(project), screens: ['judges'] },
  { name: 'Monitors', path: (project) => paths.monitors(project), screens: ['monitors'] },
  { name: 'Datasets', path: (project) => paths.datasets(project), screens: ['datasets'] },
]
