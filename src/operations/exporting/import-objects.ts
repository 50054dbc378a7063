import { JsonText } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import { readVersion } from '../../storage/objects/objects.ts'
import { columnsOf, givenValue } from '../objects/classes.ts'
import { classConflict } from '../objects/create.ts'
import type { ImportedObject } from './contract.ts'
import type { Outcome } from './outcome.ts'

/** The versions of one name, as far as they have been read. */
interface Name {
  object_id: string
  digests: Set<string>
  latest: ImportedObject | undefined
}

/** Accepts versions in the order of their names and numbers. */
export function createObjectImport(db: Database, user: string, outcome: Outcome) {
  let name: Name | undefined

  async function keep(project: string, object: ImportedObject) {
    const value = givenValue(object.val ?? new JsonText('null'))
    if (value.digest !== object.digest) {
      const { digest } = value
      throw refuse('digest_differs', { field: 'object.digest', received: object.digest, digest })
    }
    const { object_id, created_at, svc_user_id } = object
    return {
      project_id: project,
      object_id,
      ...columnsOf(value),
      user_id: svc_user_id ?? user,
      now: created_at,
    }
  }

  /**
   * The last version written has become the latest. If the export names another one, it is made the latest again,
   * unless the latest version in the project is not from the export.
   */
  async function end(project: string): Promise<void> {
    const ended = name
    name = undefined
    if (ended?.latest === undefined) return
    const { object_id, latest, digests } = ended
    const here = await readVersion(db, project, { name: object_id, digest: 'latest' })
    if (here === undefined || here.digest === latest.digest || !digests.has(here.digest)) return
    await db.write('keepObject', await keep(project, latest))
  }

  return {
    end,
    async take(project: string, object: ImportedObject): Promise<void> {
      if (name?.object_id !== object.object_id) {
        await end(project)
        name = { object_id: object.object_id, digests: new Set(), latest: undefined }
      }
      name.digests.add(object.digest)
      if (object.is_latest === 1) name.latest = object
      const version = await keep(project, object)
      const labels = { tags: object.tags ?? [], aliases: object.aliases ?? [] }
      const result = await db.write('importVersion', { ...version, ...labels })
      if (result === 'there' || result === 'gone') outcome[result]++
      else if ('conflict' in result) {
        const { object_id, base_object_class } = version
        throw classConflict('object.object_id', object_id, result.conflict, base_object_class ?? '')
      } else {
        outcome.added++
        if (result.gated > 0) outcome.gated = (outcome.gated ?? 0) + result.gated
      }
    },
  }
}
