import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The data of a new PostgreSQL. Each initdb makes the same and takes most of the time until the server listens, so what
 * the first made is in the cache of this checkout, and the others start with a copy of it.
 */

export interface Owner {
  uid: number
  gid: number
}

const cache = fileURLToPath(new URL('../../node_modules/.cache/postgres', import.meta.url))

// A linguistic collation, as most real databases have, so that SQL that silently relies on byte order fails.
const flags = [
  ...['--username', 'postgres', '--auth', 'scram-sha-256', '--encoding', 'UTF8', '--locale', 'C'],
  ...['--locale-provider', 'icu', '--icu-locale', 'en-US', '--no-sync'],
]

/** Fills the folder with `data` and the `password` of the administrator. */
export function initialise(folder: string, initdb: string, owner: Owner | undefined): void {
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  const version = call(initdb, ['--version'], owner)
  // initdb writes the time zone into the settings.
  const made = JSON.stringify([version, flags, owner, process.env.TZ])
  const template = join(cache, createHash('sha256').update(made).digest('hex').slice(0, 16))
  if (existsSync(template)) copy(template, folder)
  else {
    make(folder, initdb, owner)
    store(folder, template)
  }
}

function make(folder: string, initdb: string, owner: Owner | undefined): void {
  const secret = join(folder, 'password')
  writeFileSync(secret, randomBytes(12).toString('hex'), { mode: 0o600 })
  if (owner !== undefined) chownSync(secret, owner.uid, owner.gid)
  call(initdb, ['--pgdata', join(folder, 'data'), '--pwfile', secret, ...flags], owner, folder)
}

/** The template is complete or not there at all, whoever is killed and however many make one at once. */
function store(folder: string, template: string): void {
  mkdirSync(cache, { recursive: true })
  removeOld()
  const draft = mkdtempSync(join(cache, 'draft-'))
  try {
    copy(folder, draft)
    renameSync(draft, template)
  } catch (error) {
    if (!existsSync(template)) throw error
    rmSync(draft, { recursive: true, force: true })
  }
}

/** Data of other versions, and what a killed process left. A draft is complete within seconds. */
function removeOld(): void {
  const hourMs = 3_600_000
  for (const name of readdirSync(cache)) {
    const path = join(cache, name)
    const made = statSync(path, { throwIfNoEntry: false })?.mtimeMs
    if (made === undefined || made >= Date.now() - hourMs) continue
    // Nobody may find a part of it.
    const doomed = `${path}-${process.pid}`
    renameSync(path, doomed)
    rmSync(doomed, { recursive: true, force: true })
  }
}

/** By `cp`, because it keeps the owner and the rights, which PostgreSQL checks; copies of Node do not. */
function copy(from: string, to: string): void {
  call('cp', ['-a', join(from, 'data'), join(from, 'password'), to])
}

function call(command: string, args: readonly string[], owner?: Owner, cwd?: string): string {
  const result = spawnSync(command, args, { ...owner, ...(cwd && { cwd }), encoding: 'utf8' })
  if (result.status !== 0)
    throw new Error(`${command} failed: ${result.error ?? ''}${result.stdout}${result.stderr}`)
  return result.stdout
}
