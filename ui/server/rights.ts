import type { Right } from '../../src/domain/roles.ts'
import type { Queue } from './queues.ts'
import { currentUser } from './session.ts'

/** Whether the server would allow it in a project; without one, somewhere. What it would refuse is not offered. */
export function may(right: Right, project?: string): boolean {
  const me = currentUser.value
  if (me === undefined) return false
  if (project === undefined) return me.operations.includes(right)
  return me.grants.some(
    (grant) =>
      grant.operations.includes(right) &&
      (grant.scope === '*' || grant.scope === project || project.startsWith(`${grant.scope}/`)),
  )
}

/** Whether the user may take the items of a queue: one without reviewers is open to all. */
export function mayReview(project: string, { reviewers, adjudicators }: Queue): boolean {
  const user = currentUser.value?.user ?? ''
  return (
    may('review', project) &&
    (reviewers.length === 0 || reviewers.includes(user) || adjudicators.includes(user))
  )
}
