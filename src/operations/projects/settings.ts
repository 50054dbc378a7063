import { LRUCache } from 'lru-cache'
import type { ProjectSettings } from '../../domain/project-settings.ts'
import { readProjectSettings } from '../../storage/projects/projects.ts'
import type { Reader } from '../../storage/transaction.ts'
import { maxEntries } from '../../threads/cache-bounds.ts'

/**
 * An operator's change takes effect within a second. Settings are cached, because each call that starts needs them and
 * most projects have none.
 */
const freshMs = 1_000
const maxKnown = 10_000

export interface Projects {
  /** Days after its start when a call of the project expires; 0 means never. */
  retentionDays(project: string): Promise<number>
}

export function createProjects(db: Reader, usual: { retentionDays: number }): Projects {
  const known = new LRUCache<string, ProjectSettings>({ ...maxEntries(maxKnown), ttl: freshMs })

  async function settingsOf(project: string): Promise<ProjectSettings> {
    const found = known.get(project)
    if (found !== undefined) return found
    const settings = await readProjectSettings(db, project)
    known.set(project, settings)
    return settings
  }

  return {
    retentionDays: async (project) => (await settingsOf(project)).retention_days ?? usual.retentionDays,
  }
}
