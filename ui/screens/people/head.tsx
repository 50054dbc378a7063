import type { ComponentProps } from 'preact'
import { ListsHead } from '../../parts/lists-head.tsx'
import { serverLists } from '../../sections.ts'

/** The head of the lists of the server: those that the user may read. */
export function PeopleHead(props: Omit<ComponentProps<typeof ListsHead>, 'label' | 'lists'>) {
  return <ListsHead label="People" lists={serverLists()} {...props} />
}
