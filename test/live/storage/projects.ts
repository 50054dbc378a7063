import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ProjectSettings } from '../../../src/domain/project-settings.ts'
import { readProjectSettings } from '../../../src/storage/tables/projects.ts'
import type { Change } from '../../../src/storage/tables/settings.ts'
import type { Driver } from '../../support/drivers.ts'

export function projects(open: Driver['open']): void {
  describe('projects', () => {
    test('keep what is set for them until it is taken away', async (t) => {
      const db = await open(t)
      const set = (project_id: string, change: Change<ProjectSettings>) =>
        db.write('changeProjectSettings', { project_id, change })
      assert.deepEqual(await readProjectSettings(db, 'acme/qa'), {})
      assert.deepEqual(await set('acme/qa', { retention_days: 3 }), { retention_days: 3 })
      assert.deepEqual(await set('acme/größe', { retention_days: 0 }), { retention_days: 0 })
      assert.deepEqual(await readProjectSettings(db, 'acme/qa'), { retention_days: 3 })
      assert.deepEqual(await readProjectSettings(db, 'acme/größe'), { retention_days: 0 })
      assert.deepEqual(await set('acme/qa', {}), { retention_days: 3 })
      assert.deepEqual(await set('acme/qa', { retention_days: null }), {})
      assert.deepEqual(await readProjectSettings(db, 'acme/qa'), {})
    })
  })
}
