import { paths } from '../places.ts'
import { place } from '../routes.ts'

/** The screens of a project, by the names that people know them by. */
const screens = [
  { label: 'Calls', at: ['calls', 'trace', 'call'], path: (project: string) => paths.calls(project) },
  { label: 'Evaluations', at: ['evals', 'compare'], path: (project: string) => paths.evals(project) },
]

export function ProjectNav({ project }: { project: string }) {
  const { screen } = place.value
  return (
    <nav class="project-nav" aria-label="Screens of the project">
      {screens.map(({ label, at, path }) => (
        <a key={label} href={path(project)} aria-current={at.includes(screen) ? 'page' : undefined}>
          {label}
        </a>
      ))}
    </nav>
  )
}
