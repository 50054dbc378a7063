// The package contains its dependencies in the tested versions (`bundleDependencies`), because npm 12 ignores a lock file
// in a package, and npm 11 ignores it in a file. The engine's package would still bring the 610 MB of its GPU builds and an
// install script that compiles, so its manifest is packed without them: `optionalDependencies` here name its CPU builds.
//
//   node scripts/bundled-manifests.mjs make      before `npm pack`
//   node scripts/bundled-manifests.mjs remove    after it

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const manifest = fileURLToPath(new URL('../node_modules/node-llama-cpp/package.json', import.meta.url))
const original = `${manifest}.original`

if (process.argv[2] === 'make') {
  if (!existsSync(original)) renameSync(manifest, original)
  const {
    optionalDependencies: _,
    scripts: __,
    files,
    ...packed
  } = JSON.parse(readFileSync(original, 'utf8'))
  // 34 MB of sources, from which only that script would compile.
  const packedFiles = [...files, '!llama/gitRelease.bundle']
  writeFileSync(manifest, `${JSON.stringify({ ...packed, files: packedFiles }, null, 2)}\n`)
} else if (existsSync(original)) {
  renameSync(original, manifest)
}
