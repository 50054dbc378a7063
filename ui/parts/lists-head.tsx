import type { ComponentChildren } from 'preact'
import { route } from '../router.ts'
import { qualityLists, type Section, serverLists, settingsLists } from '../sections.ts'

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
function ListsHead({ label, lists, project = '', title, children }: Props) {
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

type OwnProps = Omit<Props, 'label' | 'lists'>

/** Of runs, judges, monitors and datasets. */
export const QualityHead = (props: OwnProps) => <ListsHead label="Quality" lists={qualityLists} {...props} />

/** Of what is set for a project. */
export const SettingsHead = (props: OwnProps & { project: string }) => (
  <ListsHead label="Settings" lists={settingsLists(props.project)} {...props} />
)

/** Of the server. */
export const PeopleHead = (props: OwnProps) => <ListsHead label="People" lists={serverLists()} {...props} />
