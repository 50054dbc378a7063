import { projectId } from '../../domain/fields.ts'
import { refuse } from '../../domain/refusals.ts'
import { textOf } from './conventions.ts'
import type { Resource } from './span.ts'

const entityName = 'wandb.entity'
const projectName = 'wandb.project'

export const projectHeader = 'project_id'

/** The project that a resource names itself. One half of the name alone is a mistake that would go elsewhere unseen. */
export function projectOfResource({ attributes }: Resource, place: string): string | undefined {
  const entity = textOf(attributes, entityName)
  const project = textOf(attributes, projectName)
  if (entity === undefined && project === undefined) return undefined
  if (entity === undefined || project === undefined) throw noProject(place, entity ?? project)
  return checked(`${entity}/${project}`, place)
}

export function projectOfHeader(given: string | undefined): string | undefined {
  return given === undefined ? undefined : checked(given, projectHeader)
}

function checked(project: string, field: string): string {
  if (projectId.safeParse(project).success) return project
  throw refuse('invalid_value', {
    field,
    given: JSON.stringify(project.slice(0, 300)),
    accepted: '<entity>/<project>',
  })
}

export function noProject(place: string, given: string | undefined) {
  return refuse('invalid_value', {
    field: place,
    given:
      given === undefined
        ? 'it names no project'
        : `${JSON.stringify(given.slice(0, 300))} is half a project`,
    accepted: `the resource attributes ${entityName} and ${projectName}, or the header ${projectHeader}: <entity>/<project>`,
  })
}
