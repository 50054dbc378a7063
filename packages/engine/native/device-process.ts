import type { GpuBuild } from '../protocol.ts'
import { openBuild } from './build.ts'
import type { Device } from './device.ts'

/** Loads the GPU build named by its argument, reports the device that it finds, and exits. */

const build = process.argv[2] as GpuBuild
const { devices } = await openBuild(build)
const sum = (of: (device: (typeof devices)[number]) => number) =>
  devices.reduce((total, device) => total + of(device), 0)
const device: Device = {
  build,
  names: devices.map(({ name }) => name),
  freeMemory: sum(({ freeMemory }) => freeMemory),
  totalMemory: sum(({ totalMemory }) => totalMemory),
  unified: devices.some(({ isUnified }) => isUnified),
}
process.send?.(device, () => process.exit())
