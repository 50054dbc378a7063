// The package contains its dependencies in the tested versions (`bundleDependencies`), because npm 12 ignores a lock file
// in a package, and npm 11 ignores it in a file. koffi's install script would compile, so its manifest is packed without it.
//
//   node scripts/bundled-manifests.mjs make      before `npm pack`
//   node scripts/bundled-manifests.mjs remove    after it

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const manifest = fileURLToPath(new URL('../node_modules/koffi/package.json', import.meta.url))
const original = `${manifest}.original`

if (process.argv[2] === 'make') {
  if (!existsSync(original)) renameSync(manifest, original)
  const { scripts: _, ...packed } = JSON.parse(readFileSync(original, 'utf8'))
  const files = ['*', '!package.json.original']
  writeFileSync(manifest, `${JSON.stringify({ ...packed, files }, null, 2)}\n`)
} else if (existsSync(original)) {
  renameSync(original, manifest)
}
