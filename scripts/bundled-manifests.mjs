// The package contains its dependencies in the tested versions (`bundleDependencies`), because npm 12 ignores a lock file
// in a package, and npm 11 ignores it in a file. The engine's package would still bring the 610 MB of its GPU builds, and
// it and koffi install scripts that compile, so their manifests are packed without them: `optionalDependencies` here name
// the CPU builds.
//
//   node scripts/bundled-manifests.mjs make      before `npm pack`
//   node scripts/bundled-manifests.mjs remove    after it

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const changes = {
  'node-llama-cpp': ({ optionalDependencies: _, files, ...others }) => ({
    ...others,
    // 34 MB of sources, from which only that script would compile.
    files: [...files, '!llama/gitRelease.bundle'],
  }),
  koffi: (manifest) => ({ ...manifest, files: ['*', '!package.json.original'] }),
}

for (const [name, changed] of Object.entries(changes)) {
  const manifest = fileURLToPath(new URL(`../node_modules/${name}/package.json`, import.meta.url))
  const original = `${manifest}.original`
  if (process.argv[2] === 'make') {
    if (!existsSync(original)) renameSync(manifest, original)
    const { scripts: _, ...packed } = JSON.parse(readFileSync(original, 'utf8'))
    writeFileSync(manifest, `${JSON.stringify(changed(packed), null, 2)}\n`)
  } else if (existsSync(original)) {
    renameSync(original, manifest)
  }
}
