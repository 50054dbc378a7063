import { paths } from '../routes.ts'
import { readCall } from '../server/calls.ts'
import { feedbackOf } from '../server/feedback.ts'
import { callRefOf } from '../value/ref.ts'
import type { Exported } from './make.ts'

/** One whole call with its feedback. */
export function exportOfCall(project: string, call: string, name: string): Exported {
  return {
    title: name,
    project,
    path: paths.call(project, call),
    name: `call-${call}`,
    async collect(_, signal) {
      await readCall(project, call, signal)
      await feedbackOf(project, callRefOf(project, call), signal)
      return { holds: ['It contains one call in full, with its feedback.'] }
    },
  }
}
