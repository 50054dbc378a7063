import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

let isBuilt = false

/** Builds the page as before `npm start`, once in a process; does nothing if nothing has changed. */
export function buildPage(): void {
  if (isBuilt) return
  const script = fileURLToPath(new URL('../../scripts/build-ui.mjs', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [script, '--strict'], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  isBuilt = true
}
