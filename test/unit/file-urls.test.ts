import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

const files = ['src', 'packages', 'ui', 'bin', 'scripts', 'benchmarks', 'models', 'docker', 'test'].flatMap(
  (folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(ts|tsx|js|mjs)$/.test(file))
      .filter((file) => !file.split(/[\\/]/).includes('node_modules') && !import.meta.filename.endsWith(file))
      .map((file) => join(folder, file)),
)

/**
 * The pathname of a file URL is percent-encoded, and on Windows it begins with a slash, so it is a path only where
 * folders have plain names (https://nodejs.org/api/url.html#urlfileurltopathurl-options).
 */
function mistakesOf(text: string): string[] {
  const isAboutFiles = /\bimport\.meta\.(url|resolve)\b/.test(text)
  return [
    ...(isAboutFiles ? text.matchAll(/\.pathname\b/g) : []),
    ...text.matchAll(/\bfile:\/\/\/?\$\{|['"`]file:\/\/\/?['"`] *\+/g),
  ].map(([mistake]) => mistake)
}

test('a file URL becomes a path by fileURLToPath, and a path becomes a URL by pathToFileURL', () => {
  assert.ok(files.length > 1_000, `${files.length} files were found`)
  const wrong = files.flatMap((file) =>
    mistakesOf(readFileSync(join(root, file), 'utf8')).map((mistake) => `${file}: ${mistake}`),
  )
  assert.deepEqual(wrong, [], 'Functions of node:fs also accept the URL itself.')
})

test('the mistakes are recognised', () => {
  const url = `new URL('.', import.meta.${'url'})`
  assert.deepEqual(mistakesOf(`const folder = ${url}\njoin(folder.${'pathname'}, file)`), ['.pathname'])
  assert.deepEqual(mistakesOf(`import(\`file://\${'$'}{path}\`)`).length, 1)
  assert.deepEqual(mistakesOf(`'file://' + path`).length, 1)
  assert.deepEqual(mistakesOf(`const { pathname } = new URL(request.url)`), [])
})
