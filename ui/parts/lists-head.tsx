import type { ComponentChildren } from 'preact'
import { route } from '../router.ts'
import type { Section } from '../sections.ts'

interface Props {
  /** Name of the group of lists. */
  label: string
  lists: readonly Section[]
  /** Absent for lists of the server. */
  project?: string
  /** Name of the list, which only readers of the screen need: the tabs show it. */
  title: string
  /** Buttons at the right. */
  children?: ComponentChildren
}

/** The head of a list: the lists beside it, and what can be made. */
export function ListsHead({ label, lists, project = '', title, children }: Props) {
  return (
    <header class="screen-head quality-head">
      <h1 class="hidden-text">{title}</h1>
      <nav class="quality-lists" aria-label={label}>
        {lists.map(({ name, path, screens }) => (
          <a
            key={name}
            href={path(project)}
            aria-current={screens.includes(route.value.screen) ? 'page' : undefined}
          >
            {name}
          </a>
        ))}
      </nav>
      <div class="head-tools">{children}</div>
    </header>
  )
}
