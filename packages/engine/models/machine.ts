import { readFile } from 'node:fs/promises'
import { arch, availableParallelism, freemem, platform } from 'node:os'
import { join } from 'node:path'
import type { Device } from '../native/device.ts'

/** The resources of the machine that an engine may use. */
export interface Machine {
  /** Bytes that can still be allocated, including the system's file cache. */
  freeMemory: number
  /** What sets this limit, for messages. */
  boundBy: string
  cores: number
  /** Absent: models run on the CPU. */
  device?: Device
}

/** `root` is the folder of the system's files, for tests. */
export async function inspectMachine(root = '/'): Promise<Machine> {
  const [limits, cores] = await Promise.all([groupLimits(root), physicalCores(root)])
  const free = { freeMemory: freemem(), boundBy: 'this machine' }
  const tightest = limits.reduce((least, next) => (next.freeMemory < least.freeMemory ? next : least), free)
  return { ...tightest, cores }
}

type Limit = Pick<Machine, 'freeMemory' | 'boundBy'>

/**
 * The memory limits of the control group of this process and of those around it: a container has one, and the system
 * kills a process that exceeds it. `process.availableMemory()` is not suitable: it counts cached files as used, and a
 * model that has just been downloaded is one.
 */
async function groupLimits(root: string): Promise<Limit[]> {
  const groups = (await textAt(root, 'proc/self/cgroup')) ?? ''
  const limits: Limit[] = []
  for (const line of groups.trim().split('\n')) {
    const [, controllers = '', path = '/'] = line.split(':')
    if (controllers === '') limits.push(...(await limitsUp(root, 'sys/fs/cgroup', path, unified)))
    else if (controllers.split(',').includes('memory')) {
      limits.push(...(await limitsUp(root, 'sys/fs/cgroup/memory', path, legacy)))
    }
  }
  return limits
}

/** `spare` is the part of the used memory that the system frees when needed. */
const unified = { limit: 'memory.max', used: 'memory.current', spare: 'inactive_file' }
const legacy = {
  limit: 'memory.limit_in_bytes',
  used: 'memory.usage_in_bytes',
  spare: 'total_inactive_file',
}

async function limitsUp(root: string, base: string, path: string, files: typeof legacy): Promise<Limit[]> {
  const steps = path.split('/').filter((step) => step !== '' && step !== '..')
  const limits: Limit[] = []
  for (let depth = steps.length; depth >= 0; depth--) {
    const folder = join(base, ...steps.slice(0, depth))
    const limit = Number((await textAt(root, folder, files.limit)) ?? Number.NaN)
    const used = Number((await textAt(root, folder, files.used)) ?? Number.NaN)
    // `max` and a missing file are not a number; version 1 writes "no limit" as a huge one.
    if (!(limit < 2 ** 60) || Number.isNaN(used)) continue
    const spare = new RegExp(`^${files.spare} (\\d+)$`, 'm').exec(
      (await textAt(root, folder, 'memory.stat')) ?? '',
    )
    const freeMemory = Math.max(0, limit - used + Number(spare?.[1] ?? 0))
    limits.push({ freeMemory, boundBy: `its control group (${join('/', folder, files.limit)})` })
  }
  return limits
}

/**
 * Hyper-threads share the arithmetic units of a core, so one engine thread for each of them is slower than one for
 * both.
 */
async function physicalCores(root: string): Promise<number> {
  const available = availableParallelism()
  if (platform() !== 'linux') return arch() === 'x64' ? Math.max(1, Math.ceil(available / 2)) : available
  const found = new Set<string>()
  for (let cpu = 0; cpu < 4096; cpu++) {
    const siblings = await textAt(root, `sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`)
    if (siblings === undefined) break
    found.add(siblings.trim())
  }
  return Math.min(available, found.size || available)
}

/** Undefined when there is no such file. */
async function textAt(root: string, ...path: string[]): Promise<string | undefined> {
  try {
    return await readFile(join(root, ...path), 'utf8')
  } catch {
    return undefined
  }
}
