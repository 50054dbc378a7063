import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Database } from '../../../src/storage/database.ts'
import { readUserSettings, type SettingsChange } from '../../../src/storage/users/settings.ts'
import { hasUser, listKeys, listUsers, type User, userOfKey } from '../../../src/storage/users/users.ts'
import { startedAt } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'

const alice: User = { name: 'alice', role: 'member', entities: ['acme', 'größe'], created_at: startedAt }
const bob: User = { name: 'bob', role: 'admin', entities: ['*'], created_at: startedAt }

const add = (db: Database, user: User, key = user.name) =>
  db.write('addUser', { user, key: { id: `${key}-1`, hash: `hash of ${key}` } })

export function people(open: Driver['open']): void {
  describe('users and keys', () => {
    test('a user is created with a key, and found by it', async (t) => {
      const db = await open(t)
      assert.equal(await add(db, bob), true)
      assert.equal(await add(db, alice), true)
      assert.deepEqual(await listUsers(db), [alice, bob])
      assert.deepEqual(await userOfKey(db, 'hash of alice'), { ...alice, key: {}, keyId: 'alice-1' })
      assert.equal(await userOfKey(db, 'hash of nobody'), undefined)
    })

    test('a name can be used once', async (t) => {
      const db = await open(t)
      await add(db, alice)
      assert.equal(await add(db, { ...bob, name: 'alice' }, 'other'), false)
      assert.deepEqual(await listUsers(db), [alice])
      assert.equal(await userOfKey(db, 'hash of other'), undefined)
    })

    test('only one of several concurrent first users is created', async (t) => {
      const db = await open(t)
      const made = await Promise.all(
        ['a', 'b', 'c', 'd', 'e', 'f'].map((name) =>
          db.write('addFirstUser', { user: { ...bob, name }, key: { id: name, hash: name } }),
        ),
      )
      assert.equal(made.filter(Boolean).length, 1)
      assert.equal((await listUsers(db)).length, 1)
    })

    test('keys are added and listed, and stop working when they are revoked', async (t) => {
      const db = await open(t)
      await add(db, alice)
      const second = { id: 'second', hash: 'hash 2', user: 'alice', now: startedAt + 1 }
      assert.equal(await db.write('addKey', second), true)
      assert.equal(await db.write('addKey', { ...second, id: 'x', hash: 'x', user: 'nobody' }), false)
      const first = {
        id: 'alice-1',
        user_name: 'alice',
        created_at: startedAt,
        revoked_at: null,
        settings: {},
      }
      const added = {
        id: 'second',
        user_name: 'alice',
        created_at: startedAt + 1,
        revoked_at: null,
        settings: {},
      }
      const listed = async () => (await listKeys(db, 'alice')).map((key) => ({ ...key }))
      assert.deepEqual(await listed(), [first, added])

      assert.equal(await db.write('revokeKey', { id: 'second', now: startedAt + 2 }), true)
      assert.equal(await userOfKey(db, 'hash 2'), undefined)
      assert.deepEqual(await userOfKey(db, 'hash of alice'), { ...alice, key: {}, keyId: 'alice-1' })
      assert.equal(await db.write('revokeKey', { id: 'second', now: startedAt + 3 }), false)
      assert.equal(await db.write('revokeKey', { id: 'nobody', now: startedAt + 3 }), false)
      assert.deepEqual(await listed(), [first, { ...added, revoked_at: startedAt + 2 }])
    })

    test('settings of a key are read with its user until they are removed', async (t) => {
      const db = await open(t)
      await add(db, alice)
      const quiet = {
        id: 'quiet',
        hash: 'hash 2',
        user: 'alice',
        now: startedAt,
        settings: { record: 'off' as const },
      }
      assert.equal(await db.write('addKey', quiet), true)
      assert.deepEqual((await userOfKey(db, 'hash 2'))?.key, { record: 'off' })
      assert.deepEqual((await userOfKey(db, 'hash of alice'))?.key, {})
      const set = (id: string, record: 'off' | null) =>
        db.write('changeKeySettings', { id, change: { record } })
      assert.deepEqual(await set('quiet', null), {})
      assert.deepEqual(await set('alice-1', 'off'), { record: 'off' })
      assert.deepEqual((await userOfKey(db, 'hash 2'))?.key, {})
      assert.deepEqual((await userOfKey(db, 'hash of alice'))?.key, { record: 'off' })
      assert.equal(await set('nobody', 'off'), undefined)
      await db.write('revokeKey', { id: 'quiet', now: startedAt })
      assert.equal(await set('quiet', 'off'), undefined, 'the key was revoked')
    })

    test('two keys cannot have the same hash', async (t) => {
      const db = await open(t)
      await add(db, alice)
      const twin = { id: 'twin', hash: 'hash of alice', user: 'alice', now: startedAt }
      await assert.rejects(db.write('addKey', twin))
      assert.equal((await listKeys(db, 'alice')).length, 1)
    })

    test('the keys of a user are removed with the user', async (t) => {
      const db = await open(t)
      await add(db, alice)
      await add(db, bob)
      assert.deepEqual([await hasUser(db, 'alice'), await hasUser(db, 'Alice')], [true, false])
      assert.equal(await db.write('removeUser', { name: 'alice', isConfigured: false, now: 0 }), true)
      assert.equal(await hasUser(db, 'alice'), false)
      assert.equal(await db.write('removeUser', { name: 'alice', isConfigured: false, now: 0 }), false)
      assert.equal(await userOfKey(db, 'hash of alice'), undefined)
      assert.deepEqual(await listKeys(db, 'alice'), [])
      assert.deepEqual(await listUsers(db), [bob])
    })

    test('settings of a user are kept until they or the user are removed', async (t) => {
      const db = await open(t)
      await add(db, alice)
      await add(db, bob)
      const set = (name: string, change: SettingsChange, isConfigured = false) =>
        db.write('changeUserSettings', { name, change, isConfigured, now: startedAt })
      assert.deepEqual(await set('alice', { requests_per_minute: 5 }), { requests_per_minute: 5 })
      const both = { requests_per_minute: 5, tokens_per_minute: 1_000_000_000 }
      assert.deepEqual(await set('alice', { tokens_per_minute: 1_000_000_000 }), both)
      assert.deepEqual(await userOfKey(db, 'hash of alice'), {
        ...alice,
        key: {},
        keyId: 'alice-1',
        settings: both,
      })
      assert.deepEqual(await listUsers(db), [{ ...alice, settings: both }, bob])
      const left = { tokens_per_minute: 1_000_000_000 }
      assert.deepEqual(await set('alice', { requests_per_minute: null, requests_at_once: null }), left)
      assert.deepEqual(await readUserSettings(db, 'alice'), left)

      assert.equal(await set('nobody', { requests_at_once: 1 }), undefined)
      assert.equal(await readUserSettings(db, 'nobody'), undefined)
      assert.deepEqual(await set('of the settings', { requests_at_once: 1 }, true), { requests_at_once: 1 })

      assert.equal(await db.write('removeUser', { name: 'alice', isConfigured: false, now: 0 }), true)
      assert.equal(await readUserSettings(db, 'alice'), undefined)
    })

    test('concurrent changes are both kept', async (t) => {
      const db = await open(t)
      await add(db, alice)
      const set = (change: SettingsChange) =>
        db.write('changeUserSettings', { name: 'alice', change, isConfigured: false, now: startedAt })
      await Promise.all([
        set({ requests_per_minute: 1 }),
        set({ tokens_per_minute: 2 }),
        set({ requests_at_once: 3 }),
      ])
      assert.deepEqual(await readUserSettings(db, 'alice'), {
        requests_per_minute: 1,
        tokens_per_minute: 2,
        requests_at_once: 3,
      })
    })
  })
}
