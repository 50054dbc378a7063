import type { z } from 'zod'
import type { ListAnswer } from '../../src/operations/projects/contract.ts'
import { requestJson } from './request.ts'

type Projects = z.output<typeof ListAnswer>
export type ProjectRow = Projects['projects'][number]

/** The limit of one response. */
export const projectsAtOnce = 1_000

/** Projects that the signed-in user has access to, by name: the first `wanted`. */
export async function readProjects(wanted: number, signal: AbortSignal): Promise<Projects> {
  const found: ProjectRow[] = []
  for (let after = ''; ; ) {
    const { projects, next } = await requestJson<Projects>(`/projects?limit=${projectsAtOnce}${after}`, {
      signal,
    })
    found.push(...projects)
    if (next === null || found.length >= wanted) return { projects: found, next }
    after = `&after=${encodeURIComponent(next)}`
  }
}
