import type { ComponentChildren } from 'preact'
import { route } from '../../router.ts'
import { qualityLists } from '../../sections.ts'

interface Props {
  project: string
  /** Name of the list, which only readers of the screen need: the tabs show it. */
  title: string
  /** Buttons at the right. */
  children?: ComponentChildren
}

/** The head of each list of Quality: the four lists, and what can be made. */
export function QualityHead({ project, title, children }: Props) {
  return (
    <header class="screen-head quality-head">
      <h1 class="hidden-text">{title}</h1>
      <nav class="quality-lists" aria-label="Quality">
        {qualityLists.map(({ name, path, screens }) => (
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
