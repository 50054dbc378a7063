/** What an annotator can say of an item. */
export const annotationStates = ['in_progress', 'completed', 'skipped'] as const
export type AnnotationState = (typeof annotationStates)[number]

/** The same, and that nothing was said yet. */
export const itemStates = ['unstarted', ...annotationStates] as const
export type ItemState = (typeof itemStates)[number]

/** What an annotator who has said one thing may say next. Saying the same again changes nothing, so a retry is safe. */
const followers: Record<ItemState, readonly AnnotationState[]> = {
  unstarted: annotationStates,
  in_progress: annotationStates,
  completed: ['completed'],
  skipped: ['skipped'],
}

export function statesAfter(state: ItemState): readonly AnnotationState[] {
  return followers[state]
}

/** The annotator is done with the item. */
export function isFinished(state: ItemState): boolean {
  return state === 'completed' || state === 'skipped'
}
