import { fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engineEnvironment } from '../owner/engine-process.ts'
import { type GpuBuild, gpuBuilds } from '../protocol.ts'
import { folderOf } from './folders.ts'

/** A GPU, or several that work together. */
export interface Device {
  build: GpuBuild
  names: string[]
  /** Bytes, of all GPUs together. */
  freeMemory: number
  totalMemory: number
  /** Video memory is part of the machine's memory. */
  unified: boolean
}

const maxProbeMs = 60_000

/** The GPU builds whose packages are installed. */
export function installedBuilds(): GpuBuild[] {
  return gpuBuilds.filter((build) => folderOf(build) !== undefined)
}

/**
 * The device that a build finds. A separate process looks: drivers take memory, and may end the process that loads
 * them.
 */
export async function findDevice(
  build: GpuBuild,
  signal?: AbortSignal,
): Promise<Device | { missing: string }> {
  const entry = fileURLToPath(new URL(`./device-process${extname(import.meta.url)}`, import.meta.url))
  const child = fork(entry, [build], {
    env: engineEnvironment(),
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    timeout: maxProbeMs,
    killSignal: 'SIGKILL',
    ...(signal && { signal }),
  })
  return new Promise((resolve) => {
    const missing = () => {
      const isInstalled = installedBuilds().includes(build)
      const why = isInstalled ? `the ${build} build finds no device here` : `no ${build} build is installed`
      resolve({ missing: why })
    }
    child.once('message', (device: Device) => (device.names.length > 0 ? resolve(device) : missing()))
    child.once('error', missing)
    child.once('exit', missing)
  })
}
