// Nothing native may be imported before this check: on an older Node it would end the process without a message.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `Heddle needs Node 22.19 or newer; this is ${process.version}. \`npm start\` brings its own.\n`,
  )
  process.exitCode = 2
} else {
  const { run } = await import('./command-line/run.ts')
  process.exitCode = await run(process.argv.slice(2))
}
