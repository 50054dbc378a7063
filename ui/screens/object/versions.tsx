import type { Shortcut } from '../../parts/shortcuts.ts'
import { search, setSearch } from '../../router.ts'
import { type ObjectRead, type ObjectVersion, readObject, readVersions } from '../../server/objects.ts'

/** Versions in the list. */
export const maxVersions = 500

interface Read {
  versions: ObjectVersion[]
  /** Whether older versions are left out. */
  isPart: boolean
  shown: ObjectRead
}

/** The versions of an object, and the one that is shown. */
export async function readWithVersions(
  project: string,
  object: string,
  version: string,
  signal: AbortSignal,
): Promise<Read> {
  const [versions, shown] = await Promise.all([
    readVersions({ project, objects: [object], limit: maxVersions }, signal),
    readObject(project, object, version, signal),
  ])
  const isListed = versions.some(({ digest }) => digest === shown.digest)
  return {
    versions: isListed ? versions : [...versions, shown],
    isPart: versions.length === maxVersions,
    shown,
  }
}

/**
 * Goes from a version to its neighbours, unless it stays fixed, and compares it with an earlier one, which is in the
 * address.
 */
export function versionWalk(noun: string, { versions, shown }: Partial<Read>, isFixed = false) {
  const at = versions?.findIndex(({ digest }) => digest === shown?.digest) ?? -1
  const older = versions?.[at + 1]
  const base = search.value.get('with') ?? undefined
  const walk = (by: number) => {
    const next = versions?.[at + by]
    if (next && !isFixed) setSearch({ v: `v${next.version_index}`, row: undefined })
  }
  const compare = (name: string | undefined) => setSearch({ with: name, row: undefined })
  const keys: Shortcut[] = [
    { keys: [']'], does: 'Newer version', run: () => walk(-1) },
    { keys: ['['], does: 'Older version', run: () => walk(1) },
    {
      keys: ['v'],
      does: `Show changes since the previous version, or the ${noun}`,
      run: () => compare(base === undefined && older ? `v${older.version_index}` : undefined),
    },
  ]
  return { at, base, compare, keys }
}

interface BaseProps {
  versions: readonly ObjectVersion[]
  shown: ObjectVersion
  base: string | undefined
  compare(name: string | undefined): void
}

/** Chooses the version with which the shown one is compared. */
export function BaseChoice({ versions, shown, base, compare }: BaseProps) {
  return (
    <select
      aria-label="Compared with"
      value={base ?? ''}
      onChange={({ currentTarget }) => compare(currentTarget.value || undefined)}
    >
      <option value="">No comparison</option>
      {versions
        .filter(({ digest }) => digest !== shown.digest)
        .map(({ version_index: index }) => (
          <option key={index} value={`v${index}`}>
            since v{index}
          </option>
        ))}
    </select>
  )
}
