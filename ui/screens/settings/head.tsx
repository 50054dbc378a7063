import type { ComponentProps } from 'preact'
import { ListsHead } from '../../parts/lists-head.tsx'
import { settingsLists } from '../../sections.ts'

type Props = Omit<ComponentProps<typeof ListsHead>, 'label' | 'lists'> & { project: string }

/** The head of the lists of what is set for a project. */
export function SettingsHead(props: Props) {
  return <ListsHead label="Settings" lists={settingsLists(props.project)} {...props} />
}
