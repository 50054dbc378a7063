// Builds the page from ui/ into dist/ui. Runs before `npm start` and the tests, so it does nothing if nothing has
// changed.
//
//   node scripts/build-ui.mjs

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, gzipSync } from 'node:zlib'

const root = fileURLToPath(new URL('..', import.meta.url))
const source = join(root, 'ui')
const target = join(root, 'dist', 'ui')
const stamp = join(target, '.built-from')

function sourceFiles() {
  return filesIn(source)
}

function filesIn(folder) {
  return (
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      // Before Node 20.12 it had another name.
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
      .sort()
  )
}

/** The packages that the page shares with the server. */
const shared = ['conversations', 'json'].map((name) => join(root, 'packages', name))

/** The hash of everything the page is made from. */
function sourceHash() {
  const hash = createHash('sha256')
  for (const file of [
    ...sourceFiles(),
    ...shared.flatMap(filesIn),
    join(root, 'package-lock.json'),
    fileURLToPath(import.meta.url),
  ]) {
    hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex')
}

/** The licences of the packages in the page, to be distributed with it. */
function licences(inputs) {
  const names = Object.keys(inputs).map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1])
  const texts = [...new Set(names.filter(Boolean))].sort().map((name) => {
    const folder = join(root, 'node_modules', name)
    const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one))
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), 'utf8') : ''}`
  })
  return `${texts.join('\n\n----\n\n')}\n`
}

const common = {
  absWorkingDir: root,
  bundle: true,
  target: 'es2023',
  minify: true,
  write: false,
  outdir: target,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'error',
}

const sha256 = (text) => createHash('sha256').update(text).digest('base64')

/** Components that need a server. The file carries none of their code, and `export/main.tsx` draws nothing for them. */
const leftOut = {
  name: 'left out of the file',
  setup({ onLoad }) {
    const filter =
      /ui.(adding.|datasets.|call.thumbs|export.(all|button)|parts.(first-call|saved-views|origin-switch|roots-switch)|screens.(calls.(selection|live)|(queue|compare).(change|new)-))/
    onLoad({ filter }, () => ({ contents: '', loader: 'empty' }))
    // A file changes nothing, so nobody has a right in it.
    onLoad({ filter: /ui.(server.rights|parts.add-buttons)\.tsx?$/ }, () => ({
      contents:
        'export const may = () => false, mayReview = may, addKeys = () => [], AddButtons = undefined, PlayLink = AddButtons',
      loader: 'js',
    }))
    // Of screens that a file cannot show.
    onLoad({ filter: /style.(agents|evals|objects|people|play|quality|review|threads)\.css$/ }, () => ({
      contents: '',
      loader: 'css',
    }))
  },
}

/** The file into which screens are exported, complete except for the contents. Only the scripts it contains can run. */
async function exportTemplate(bundle) {
  const { outputFiles } = await bundle({
    ...common,
    entryPoints: [join(source, 'export', 'main.tsx'), join(source, 'style', 'page.css')],
    format: 'iife',
    entryNames: '[name]',
    plugins: [leftOut],
    // Only the page can export files; an exported file cannot.
    define: { exportTemplate: '""' },
  })
  const textOf = (ending) => outputFiles.find(({ path }) => path.endsWith(ending)).text.trim()
  const [script, style] = [textOf('.js'), textOf('.css')]
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${sha256(script)}'`,
    `style-src 'sha256-${sha256(style)}'`,
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
  // The replacements are functions, because a `$` in a script must stay a plain character.
  return readFileSync(join(source, 'export', 'file.html'), 'utf8')
    .replace('{policy}', () => policy)
    .replace('<style></style>', () => `<style>${style}</style>`)
    .replace('<script></script>', () => `<script>${script}</script>`)
}

/**
 * What some screens share in small files, and what shows Markdown. As one file each they are 4 kB smaller, compressed,
 * than as the thirty that esbuild would make.
 */
const together = {
  screens:
    /ui.(adding.(note-form|review-pairs)|call.thumbs|datasets.csv|filter.conditions|value.(direction|json-tree|plain-text|scores|text-pieces|word-diff)|screens.(agents.range|charts.(data|range)|object.version-marks|play.(draft|handover|settings|turns)|queue.item-previews|search.hits|trace.tree))\.tsx?$/,
  texts: /ui.(call.(detail|feedback|feedback-content|recorded-tokens)|value.(chat|score-value))\.tsx?$/,
}

/**
 * Makes each lazily loaded screen import the page as well. The code that screens share is then reachable from all of
 * them in the same way, and esbuild puts it in one file; otherwise it would make a file for each set of screens that
 * share something.
 */
const screensShareThePage = {
  name: 'screens share the page',
  setup({ onLoad }) {
    const main = join(source, 'main.tsx')
    const opened = new Set()
    for (const file of sourceFiles().filter((path) => /\.tsx?$/.test(path))) {
      for (const [, path] of readFileSync(file, 'utf8').matchAll(/\bimport\('(\.[^']+)'\)/g)) {
        opened.add(join(dirname(file), path))
      }
    }
    // Their small parts and requests would each be a file, too, which all compress worse than one.
    const parts = sourceFiles().filter((path) => /ui.(parts|server).[^.]+\.tsx?$/.test(path))
    const [ofScreens, ofTexts] = Object.values(together).map((names) =>
      sourceFiles().filter((path) => names.test(path)),
    )
    const texts = join(source, 'value', 'markdown.tsx')
    onLoad({ filter: /\.tsx?$/ }, ({ path }) => {
      const imported = [
        ...(path === main ? parts : []),
        ...(opened.has(path) ? [main, ...ofScreens] : []),
        ...(path === texts ? ofTexts : []),
      ].filter((file) => file !== path)
      if (imported.length === 0) return undefined
      const contents = [
        ...imported.map((file) => `import ${JSON.stringify(file)}`),
        readFileSync(path, 'utf8'),
      ].join('\n')
      return { contents, loader: extname(path).slice(1) }
    })
  },
}

async function build(hash) {
  const { build: bundle } = await import('esbuild')
  const template = await exportTemplate(bundle)
  const templateName = `export-${createHash('sha256').update(template).digest('hex').slice(0, 8)}.html`
  const { outputFiles, metafile } = await bundle({
    ...common,
    entryPoints: [join(source, 'main.tsx'), join(source, 'style', 'page.css')],
    plugins: [screensShareThePage],
    splitting: true,
    format: 'esm',
    metafile: true,
    entryNames: '[name]-[hash]',
    chunkNames: 'c-[hash]',
    define: { exportTemplate: JSON.stringify(`/ui/${templateName}`) },
  })
  const named = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]))
  const find = (ending) =>
    [...named.keys()].find((name) => /^(main|page)-/.test(name) && name.endsWith(ending))
  const [style, script] = [find('.css'), find('.js')]
  // What the script imports statically is fetched together with it.
  const needed = Object.entries(metafile.outputs)
    .find(([path]) => basename(path) === script)[1]
    .imports.filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `<link rel="modulepreload" href="/ui/${basename(path)}" />`)
  const html = readFileSync(join(source, 'index.html'), 'utf8')
    .replace('{style}', `/ui/${style}`)
    .replace('{script}', `/ui/${script}`)
    .replace('{needed}', needed.join('\n    '))
  const assets = new Map([
    ...named,
    ...['icon.svg'].map((name) => [name, readFileSync(join(source, name))]),
    ['licences.txt', Buffer.from(licences(metafile.inputs))],
    ['index.html', Buffer.from(html)],
    [templateName, Buffer.from(template)],
  ])

  // Built in a new folder that then replaces the old one at once, so that two concurrent starts do not mix their files.
  const fresh = `${target}.${process.pid}`
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { recursive: true })
  for (const [name, contents] of assets) {
    writeFileSync(join(fresh, name), contents)
    writeFileSync(join(fresh, `${name}.br`), brotliCompressSync(contents))
    writeFileSync(join(fresh, `${name}.gz`), gzipSync(contents, { level: 9 }))
  }
  writeFileSync(join(fresh, '.built-from'), hash)
  const old = `${fresh}.old`
  if (existsSync(target)) renameSync(target, old)
  renameSync(fresh, target)
  rmSync(old, { recursive: true, force: true })
}

if (existsSync(source)) {
  const hash = sourceHash()
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== hash) {
    // The record and the model are served even without the page.
    await build(hash).catch((error) => {
      console.error(`The page could not be built, so there is none: ${error.message}`)
      if (process.argv.includes('--strict')) process.exitCode = 1
    })
  }
}
