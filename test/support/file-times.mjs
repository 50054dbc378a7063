// A reporter of node:test: after the run, the tests that failed, a line each (`.ci/run` repeats them at its end), and the
// files that took longest, by the clock. Their budgets are those of a quiet machine of two cores and only shown: a test
// never fails for the time that it takes. A file that cannot keep its budget is for `npm run test:long`: *.long.test.ts.

const budgetsInSeconds = { unit: 5, app: 10, live: 20, clients: 20, ui: 30, attack: 60 }
const shownFiles = 25

const ringOf = (path) => (path.startsWith('test/') ? path.split('/')[1] : path.split('/')[0])

function failureLine(path, { name, details }) {
  const [reason] = String(details.error?.cause?.message ?? details.error?.message).split('\n')
  return `Failed test: ${path}: ${name}: ${reason}\n`
}

export default async function* fileTimes(source) {
  const processes = new Map()
  // Of files that share a process: what their tests took, without loading the file.
  const tests = new Map()
  const failures = []
  for await (const { type, data } of source) {
    if (!data?.file) continue
    const path = data.file.slice(process.cwd().length + 1)
    if (type === 'test:summary') processes.set(path, data.duration_ms / 1000)
    if ((type === 'test:pass' || type === 'test:fail') && data.nesting === 0)
      tests.set(path, (tests.get(path) ?? 0) + data.details.duration_ms / 1000)
    if (type === 'test:fail') failures.push(failureLine(path, data))
  }
  yield* failures
  const own = [...processes].filter(([path]) => path.endsWith('.test.ts'))
  const files = [...new Map([...tests, ...own])].filter(([path]) => path.endsWith('.test.ts'))
  if (files.length < 2) return
  const rings = Map.groupBy(files, ([path]) => ringOf(path))
  yield '\nSeconds of the test files, by the clock\n'
  for (const [ring, members] of rings) {
    const seconds = members.reduce((sum, [, duration]) => sum + duration, 0)
    yield `  ${seconds.toFixed(0).padStart(5)}  ${ring}, ${members.length} files\n`
  }
  for (const [path, seconds] of files.toSorted((a, b) => b[1] - a[1]).slice(0, shownFiles)) {
    const budget = path.endsWith('.long.test.ts') ? Infinity : (budgetsInSeconds[ringOf(path)] ?? 10)
    yield `  ${seconds.toFixed(1).padStart(7)}  ${path}${seconds > budget ? `  (its budget is ${budget})` : ''}\n`
  }
}
