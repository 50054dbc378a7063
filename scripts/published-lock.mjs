// Publishes the tested versions with the package: `npm install heddle` installs what the lock here says. Without it the
// 610 MB of GPU builds would be installed too, since `overrides` apply only in one's own project.
//
//   node scripts/published-lock.mjs make      before `npm pack`
//   node scripts/published-lock.mjs remove    after it: while this file exists, npm does not read package-lock.json

import { readFileSync, rmSync, writeFileSync } from 'node:fs'

const target = new URL('../npm-shrinkwrap.json', import.meta.url)

if (process.argv[2] === 'make') {
  const lock = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'))
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (entry.dev || (path !== '' && entry.name)) delete lock.packages[path]
  }
  delete lock.packages[''].devDependencies
  writeFileSync(target, `${JSON.stringify(lock, null, 2)}\n`)
} else {
  rmSync(target, { force: true })
}
