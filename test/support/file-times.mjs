// A reporter of node:test: after the run, the files that took longest, by the clock. Their budgets are those of a quiet
// machine of two cores and only shown: a test never fails for the time that it takes. A file that cannot keep its budget
// is for `npm run test:long`: *.long.test.ts.

const budgetsInSeconds = { unit: 5, app: 10, live: 20, clients: 20, ui: 30, attack: 60 }
const shownFiles = 25

const ringOf = (path) => path.split('/')[1] ?? ''

export default async function* fileTimes(source) {
  const files = []
  for await (const { type, data } of source) {
    if (type === 'test:summary' && data.file)
      files.push({ path: data.file.slice(process.cwd().length + 1), seconds: data.duration_ms / 1000 })
  }
  if (files.length < 2) return
  const rings = Map.groupBy(files, ({ path }) => ringOf(path))
  yield '\nSeconds of the test files, by the clock\n'
  for (const [ring, members] of rings) {
    const seconds = members.reduce((sum, file) => sum + file.seconds, 0)
    yield `  ${seconds.toFixed(0).padStart(5)}  ${ring}, ${members.length} files\n`
  }
  for (const { path, seconds } of files.toSorted((a, b) => b.seconds - a.seconds).slice(0, shownFiles)) {
    const budget = path.endsWith('.long.test.ts') ? Infinity : (budgetsInSeconds[ringOf(path)] ?? 10)
    yield `  ${seconds.toFixed(1).padStart(7)}  ${path}${seconds > budget ? `  (its budget is ${budget})` : ''}\n`
  }
}
