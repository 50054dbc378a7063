// Runs before `npm start`: installs what is missing and builds the page, in one process, because each has to be waited
// for. Like both it works on any Node from 20.

await import('./ensure-installed.mjs')
await import('./build-ui.mjs')
