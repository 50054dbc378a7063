import type { ObjectVersion } from '../../server/objects.ts'

/** The number of a version, with its tags and aliases. */
export function VersionMarks({
  version: { version_index: index, tags, aliases },
}: {
  version: ObjectVersion
}) {
  return (
    <span class="marks">
      v{index}
      {[...(aliases ?? []), ...(tags ?? [])].map((name) => (
        <span key={name} class="mark">
          {name}
        </span>
      ))}
    </span>
  )
}
