import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp'
import type { GpuBuild } from './protocol.ts'

/** For Apple chips there is one build only; without layers on the GPU it computes on the CPU. */
const cpuBuild = process.platform === 'darwin' && process.arch === 'arm64' ? 'metal' : false

/** Loads a build of llama.cpp that is installed. Nothing is compiled and nothing downloaded. */
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
  // A GPU that this platform does not know makes the package choose for itself.
  if (llama.gpu !== build) throw new Error(`there is no ${build} build for this platform`)
  return llama
}
