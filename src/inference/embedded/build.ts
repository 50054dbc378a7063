import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp'
import type { GpuBuild } from './protocol.ts'

/** Apple chips have only one build; with no layers on the GPU it computes on the CPU. */
const cpuBuild = process.platform === 'darwin' && process.arch === 'arm64' ? 'metal' : false

/** Loads an installed build of llama.cpp. Compiles and downloads nothing. */
export async function openBuild(gpu: GpuBuild | false, onError?: (message: string) => void): Promise<Llama> {
  const build = gpu || cpuBuild
  const llama = await getLlama({
    gpu: build,
    build: 'never',
    progressLogs: false,
    skipDownload: true,
    logLevel: LlamaLogLevel.warn,
    logger(level, message) {
      if (level === LlamaLogLevel.error) onError?.(message.trim())
      process.stderr.write(`${message.trimEnd()}\n`)
    },
  })
  // The package chooses by itself when it does not know a GPU on this platform.
  if (llama.gpu !== build) throw new Error(`there is no ${build} build for this platform`)
  return llama
}
