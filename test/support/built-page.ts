import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** As before `npm start`; where nothing has changed it does nothing. */
export function buildPage(): void {
  const script = fileURLToPath(new URL('../../scripts/build-ui.mjs', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [script, '--strict'], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}
