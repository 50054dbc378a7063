import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'

/** Words to put before a command, and a function that lifts the limit for the process that runs it. */
export interface DiskLimit {
  before: string[]
  lift(pid: number): void
}

const isRoot = process.getuid?.() === 0

function works(before: readonly string[]): boolean {
  const [command = '', ...rest] = [...before, process.execPath, '--version']
  return spawnSync(command, rest, { stdio: 'ignore' }).status === 0
}

/**
 * A small disk in the folder, visible to that command only and removed with it. Half of it is filled by a file; lifting
 * the limit removes that file. Undefined if this user may not mount anything.
 */
export function limitDiskSize(folder: string, bytes: number): DiskLimit | undefined {
  const script = `mount -t tmpfs -o size=${bytes} tmpfs "$0" && head -c ${bytes >> 1} /dev/zero > "$0/ballast" && exec "$@"`
  const space = ['unshare', '--mount', ...(isRoot ? [] : ['--map-root-user'])]
  const before = [...space, 'sh', '-c', script, folder]
  if (process.platform !== 'linux' || !works(before)) return undefined
  return { before, lift: (pid) => rmSync(`/proc/${pid}/root${folder}/ballast`) }
}

/** No file may grow beyond this: the system refuses the write, as a failing disk would. Node ignores the signal. */
export function limitFileSize(kilobytes: number): DiskLimit | undefined {
  const before = ['sh', '-c', `ulimit -S -f ${kilobytes * 2} && exec "$@"`, 'limited']
  const canLift = spawnSync('prlimit', ['--version'], { stdio: 'ignore' }).status === 0
  if (!works(before) || !canLift) return undefined
  return {
    before,
    lift: (pid) => {
      const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), '--fsize=unlimited:'], {
        encoding: 'utf8',
      })
      if (status !== 0) throw new Error(stderr)
    },
  }
}

/** Permissions do not bind root, so in that case the command runs as another user. Undefined if that is not possible. */
export function unprivilegedPrefix(): string[] | undefined {
  if (process.getuid === undefined) return undefined
  if (!isRoot) return []
  const before = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
  return works(before) ? before : undefined
}
