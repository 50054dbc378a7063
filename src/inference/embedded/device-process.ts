import { openBuild } from './build.ts'
import type { Device } from './device.ts'
import type { GpuBuild } from './protocol.ts'

/** Loads the GPU build named by its argument, reports the device that it finds, and exits. */

const build = process.argv[2] as GpuBuild
const llama = await openBuild(build)
const names = await llama.getGpuDeviceNames()
const { free, total, unifiedSize } = await llama.getVramState()
const device: Device = { build, names, freeMemory: free, totalMemory: total, unified: unifiedSize > 0 }
process.send?.(device, () => process.exit())
