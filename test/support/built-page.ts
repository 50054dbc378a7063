import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Builds the page as before `npm start`; does nothing if nothing has changed. */
export function buildPage(): void {
  const script = fileURLToPath(new URL('../../scripts/build-ui.mjs', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [script, '--strict'], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}
