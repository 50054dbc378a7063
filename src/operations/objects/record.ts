import { JsonText } from '../../domain/json/text.ts'
import { formatTime } from '../../domain/time.ts'
import type { Labels } from '../../storage/tables/object-labels.ts'
import type { ObjectVersion } from '../../storage/tables/objects.ts'

const emptyObject = new JsonText('{}')

/** The object record of the wire. Without a value, `val` is `{}`. */
export function objectRecord(
  version: ObjectVersion,
  val: string | null,
  labels: Labels | undefined,
): Record<string, unknown> {
  return {
    project_id: version.project_id,
    object_id: version.object_id,
    digest: version.digest,
    version_index: version.version_index,
    is_latest: version.is_latest,
    kind: version.kind,
    base_object_class: version.base_object_class,
    leaf_object_class: version.leaf_object_class,
    val: val === null ? emptyObject : new JsonText(val),
    created_at: formatTime(version.created_at),
    deleted_at: null,
    svc_user_id: version.user_id,
    size_bytes: version.size,
    tags: labels?.tags ?? null,
    aliases: labels?.aliases ?? null,
  }
}
