import { findPackageJSON } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'

const systems: Partial<Record<NodeJS.Platform, string>> = { linux: 'linux', win32: 'win', darwin: 'mac' }

/** The folder with the libraries of a build, in its package; undefined when that is not installed. */
export function folderOf(build: string | false, more = ''): string | undefined {
  const name = `${systems[platform()]}-${arch()}${build === false ? '' : `-${build}`}`
  try {
    const manifest = findPackageJSON(`@node-llama-cpp/${name}${more}`, import.meta.url)
    return manifest && join(dirname(manifest), 'bins', name)
  } catch {
    return undefined
  }
}
