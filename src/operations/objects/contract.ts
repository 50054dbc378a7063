import { z } from 'zod'
import {
  answer,
  flag,
  isStep,
  jsonValue,
  noSteps,
  plainText,
  projectId,
  shortList,
} from '../../domain/fields.ts'
import { limit, offset, sortBy } from '../paging-contract.ts'
import { givenValue } from './classes.ts'

export const objectId = z
  .string()
  .min(1)
  .max(128)
  .refine((name) => /^[\w.-]*$/.test(name), 'expected letters, digits, "_", "." and "-"')
  .refine((name) => !isStep(name), noSteps)
  .describe('The name of the object: letters, digits, "_", "." and "-".')

/** Any name that was stored can be read, and no longer one can have been stored. */
const nameGiven = plainText(512).min(1)
const versionGiven = plainText(512)
  .min(1)
  .describe('A version: its digest, `latest`, `v` and its number, or an alias.')
const off = flag(false)
const digest = plainText(256).nullish()

const ObjectToCreate = z.object({
  project_id: projectId,
  object_id: objectId,
  val: jsonValue().transform(givenValue).nullable().describe('Any JSON value.'),
  builtin_object_class: plainText(256)
    .nullish()
    .describe('With `AnnotationSpec`, the value is validated and gets the fields that mark its class.'),
  expected_digest: digest.describe('If the server computes another digest, the request fails with a 409.'),
  expected_latest: digest.describe(
    'The digest that must be the latest version until then, or "" if the name must be new. If another is the latest by now, the request fails with a 409.',
  ),
})

export const CreateBody = z.object({ obj: ObjectToCreate })
export type CreateBody = z.output<typeof CreateBody>
export const CreateAnswer = answer('The version with this value, new or existing.', {
  digest: z.string(),
  object_id: z.string(),
})

export const ReadBody = z.strictObject({
  project_id: projectId,
  object_id: nameGiven,
  digest: versionGiven,
  metadata_only: off.describe('`val` is {}.'),
  include_tags_and_aliases: off.describe('Fills `tags` and `aliases`.'),
})
export type ReadBody = z.output<typeof ReadBody>

export const ObjectRecord = z.object({
  project_id: z.string(),
  object_id: z.string(),
  digest: z.string(),
  version_index: z.number().int(),
  is_latest: z.number().int().min(0).max(1),
  kind: z.enum(['op', 'object']),
  base_object_class: z.string().nullable(),
  leaf_object_class: z.string().nullable(),
  val: z.unknown(),
  created_at: z.iso.datetime(),
  deleted_at: z.null(),
  svc_user_id: z.string(),
  wb_user_id: z.string().describe('Same as svc_user_id, under the name that Weave clients read.'),
  size_bytes: z.number().int().describe('Size of the value as JSON.'),
  tags: z.array(z.string()).nullable(),
  aliases: z.array(z.string()).nullable(),
})
export const ReadAnswer = answer('The version with its value.', { obj: ObjectRecord })

const names = z.array(plainText(512)).max(1000).nullish()

const ObjectsFilter = z.strictObject({
  object_ids: names,
  base_object_classes: names,
  exclude_base_object_classes: names,
  leaf_object_classes: names,
  is_op: z.boolean().nullish().describe('True: only ops. False: no ops. Null: both.'),
  latest_only: off,
  tags: names.describe('Only versions with one of these tags.'),
  aliases: names.describe('Only versions with one of these aliases, including `latest`.'),
})

export const QueryBody = z.strictObject({
  project_id: projectId,
  filter: ObjectsFilter.nullish(),
  limit,
  offset,
  sort_by: sortBy(256).describe('By `object_id` or `created_at`. Default: oldest first.'),
  metadata_only: off,
  include_storage_size: off.describe('Has no effect: `size_bytes` is always included.'),
  include_tags_and_aliases: off,
})
export type QueryBody = z.output<typeof QueryBody>
export const QueryAnswer = answer('The versions found.', { objs: z.array(ObjectRecord) })

export const DeleteBody = z.strictObject({
  project_id: projectId,
  object_id: nameGiven,
  digests: shortList(plainText(512).min(1), 100)
    .nullish()
    .describe('At most 100 digests, `latest`, `vN` or aliases. Null means every version.'),
})
export type DeleteBody = z.output<typeof DeleteBody>
export const DeleteAnswer = answer('Number of deleted versions.', { num_deleted: z.number().int() })

export const Version = z.object({ object_id: nameGiven, digest: versionGiven })
export const Name = z.object({ object_id: nameGiven })

export const InProject = z.strictObject({ project_id: projectId })

const inUse = z.array(z.string()).describe('Each once, in the order of code points.')
export const TagsAnswer = answer('The tags of all versions in the project.', { tags: inUse })
export const AliasesAnswer = answer('The aliases of all versions in the project.', { aliases: inUse })

export const TagsBody = z.object({
  project_id: projectId,
  tags: z.array(plainText(256).min(1)).min(1).max(100),
})
export type TagsBody = z.output<typeof TagsBody>

const alias = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[\w.-]+$/, 'expected letters, digits, "_", "." and "-"')

export const AliasesBody = z.object({
  project_id: projectId,
  digest: versionGiven,
  aliases: z.array(alias).min(1).max(100).describe('Each of them then names only this version.'),
})
export type AliasesBody = z.output<typeof AliasesBody>

export const AliasesToRemove = z.object({
  project_id: projectId,
  aliases: z.array(alias).min(1).max(100),
})
export type AliasesToRemove = z.output<typeof AliasesToRemove>

export const EmptyAnswer = answer('An empty object, once it is written.', {})

export const RefsBody = z.object({
  refs: shortList(plainText(8192), 1000).describe(
    'At most 1000 references to objects or ops, optionally with paths into their values.',
  ),
})
export type RefsBody = z.output<typeof RefsBody>
export const RefsAnswer = answer('The values in the order of the references.', { vals: z.array(z.unknown()) })
