import type { z } from 'zod'
import { type Caller, requireAccess } from '../domain/callers.ts'
import { projectOf, type projectPath } from '../domain/fields.ts'

/** The project named in the URL and the caller that acts in it. */
export interface Scope {
  caller: Caller
  project: string
}

export function scopeOf(caller: Caller, path: z.output<typeof projectPath>): Scope {
  const project = projectOf(path)
  requireAccess(caller, project, 'path')
  return { caller, project }
}
