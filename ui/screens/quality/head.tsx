import type { ComponentProps } from 'preact'
import { ListsHead } from '../../parts/lists-head.tsx'
import { qualityLists } from '../../sections.ts'

type Props = Omit<ComponentProps<typeof ListsHead>, 'label' | 'lists'>

/** The head of each list of Quality: the four lists, and what can be made. */
export function QualityHead(props: Props) {
  return <ListsHead label="Quality" lists={qualityLists} {...props} />
}
