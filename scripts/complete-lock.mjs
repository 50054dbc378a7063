// npm leaves a platform package out of the lock if the registry in use does not serve it, and `npm ci` then refuses the
// whole lock, on every platform. Parents pin such packages exactly and their names state the platform, so the entry can
// be written without fetching them. Checksums come from the registry, for all entries that lack one. Where it does not serve
// a package there is none, and npm uses the registry's own when that platform installs.
//
//   node scripts/complete-lock.mjs [folder]     after any `npm install` that changed its package-lock.json

import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const systems = {
  linux: 'linux',
  darwin: 'darwin',
  mac: 'darwin',
  win: 'win32',
  win32: 'win32',
  windows: 'win32',
  android: 'android',
}
const processors = ['x64', 'arm64', 'arm', 'ia32', 'riscv64', 'ppc64', 's390x', 'loong64']

function find(packages, from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(at.lastIndexOf('/node_modules/'), 0))) {
    const path = `${at ? `${at}/` : ''}node_modules/${name}`
    if (packages[path]) return path
    if (!at) return undefined
  }
}

function entry(name, version, parent) {
  const words = name.split('/').at(-1).split('-')
  const os = words.map((word) => systems[word]).find(Boolean)
  const cpu = words.find((word) => processors.includes(word))
  if (!os || !cpu || !/^\d/.test(version)) throw new Error(`cannot tell the platform of ${name}@${version}`)
  return {
    version,
    cpu: [cpu],
    ...(parent.dev ? { dev: true } : {}),
    ...(os === 'linux' ? { libc: [words.includes('musl') ? 'musl' : 'glibc'] } : {}),
    ...(parent.license ? { license: parent.license } : {}),
    optional: true,
    os: [os],
  }
}

function checksum(spec) {
  const stdio = ['ignore', 'pipe', 'ignore']
  try {
    return execFileSync('npm', ['view', spec, 'dist.integrity'], { encoding: 'utf8', stdio }).trim()
  } catch {
    return ''
  }
}

const root = fileURLToPath(new URL('..', import.meta.url))
const file = join(resolve(root, process.argv[2] ?? '.'), 'package-lock.json')
const lock = JSON.parse(readFileSync(file, 'utf8'))
const added = {}
for (const [path, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    if (!find(lock.packages, path, name)) added[`node_modules/${name}`] = entry(name, version, parent)
  }
}
const order = (a, b) => a.localeCompare(b, 'en')
const sorted = Object.entries({ ...lock.packages, ...added }).sort(([a], [b]) => order(a, b))
lock.packages = Object.fromEntries(sorted)
for (const [path, entry] of Object.entries(lock.packages)) {
  if (path === '' || entry.integrity || entry.link || entry.name) continue
  const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
  const { version, ...others } = entry
  const integrity = checksum(`${name}@${entry.version}`)
  // In the order in which npm writes them.
  if (integrity) lock.packages[path] = { version, integrity, ...others }
  else console.log(`no checksum for ${name}`)
}
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
for (const path of Object.keys(added)) console.log(`added ${path.slice('node_modules/'.length)}`)
