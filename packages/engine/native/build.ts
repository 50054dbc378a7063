import { readdirSync } from 'node:fs'
import { arch } from 'node:os'
import { join } from 'node:path'
import koffi from 'koffi'
import { type Llama, openLibraries, release } from '../llama/library.ts'
import type { GpuBuild } from '../protocol.ts'
import { folderOf } from './folders.ts'

/** Apple chips have only one build; with no layers on the GPU it computes on the CPU. */
const cpuBuild = process.platform === 'darwin' && process.arch === 'arm64' ? 'metal' : false

/** `ggml_backend_dev_type` */
const gpuTypes = [1, 2]
const INTEGRATED = 2

interface BuildDevice {
  name: string
  freeMemory: number
  totalMemory: number
  /** Its memory is part of the machine's. */
  isUnified: boolean
}

/** Loads an installed build of llama.cpp. Compiles and downloads nothing. */
export async function openBuild(gpu: GpuBuild | false, onError: (message: string) => void = () => {}) {
  const build = gpu || cpuBuild
  const folder = folderOf(build)
  if (folder === undefined) throw new Error(`no ${build || 'cpu'} build of llama.cpp is installed`)
  const llama = openLibraries(folder)
  logTo(llama, onError)
  // As node-llama-cpp does; ggml reads it while it looks for devices.
  if (build === 'metal') process.env.GGML_METAL_NO_RESIDENCY ??= '1'
  // Beside JavaScript: drivers may log from threads of their own, and that waits for JavaScript.
  await llama.later.ggml_backend_load_all_from_path(folder)
  const fallback = join(folderOf(build, '-ext') ?? folder, 'fallback')
  if (gpu && devicesOf(llama).length === 0 && hasFiles(fallback)) {
    await llama.later.ggml_backend_load_all_from_path(fallback)
  }
  if (gpu && devicesOf(llama).length === 0) throw new Error(`the ${gpu} build finds no device here`)
  llama.call.llama_backend_init()
  return {
    ...llama,
    isGpu: gpu !== false,
    devices: devicesOf(llama),
    /** The version, and the processor features that it uses. */
    engine: `v${release} ${llama.call.llama_print_system_info()}`,
  }
}

export type Build = Awaited<ReturnType<typeof openBuild>>

function hasFiles(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0
  } catch {
    return false
  }
}

function devicesOf({ call }: Llama): BuildDevice[] {
  const found: BuildDevice[] = []
  for (let index = 0; index < call.ggml_backend_dev_count(); index++) {
    const device = call.ggml_backend_dev_get(index)
    const type = call.ggml_backend_dev_type(device)
    if (!gpuTypes.includes(type)) continue
    const memory = new BigUint64Array(2)
    call.ggml_backend_dev_memory(device, memory.subarray(0, 1), memory.subarray(1))
    const registry = call.ggml_backend_reg_name(call.ggml_backend_dev_backend_reg(device)) ?? ''
    found.push({
      name: call.ggml_backend_dev_description(device) ?? '',
      freeMemory: Number(memory[0]),
      totalMemory: Number(memory[1]),
      isUnified: type === INTEGRATED || (arch() === 'arm64' && ['MTL', 'Metal'].includes(registry)),
    })
  }
  return found
}

/** `ggml_log_level` */
const WARNING = 3
const ERROR = 4
const CONTINUED = 5

/** Warnings about what is meant to be so. */
const expected = [
  /the full capacity of the model will not be utilized$/,
  /^(ggml_metal_init: skipping kernel_|ggml_metal_device_init: tensor API disabled|ggml_cuda_init: GGML_CUDA_FORCE_)/,
  /^make_cpu_buft_list: disabling extra buffer types/,
  /^init: embeddings required but some input tokens were not marked as outputs/,
  /^load: special_eog_ids contains both/,
  /^llama_init_from_model: model default pooling_type is \[0\]/,
  /^llama_kv_cache: the V embeddings have different sizes across layers/,
  /cannot use buft 'CPU_REPACK', fallback to CPU$/,
  // A batch was stopped because its clients have left (llama/computing.ts): GGML_STATUS_ABORTED is 1.
  /^graph_compute: ggml_backend_sched_graph_compute_async failed with error 1$/,
  /^process_ubatch: failed to compute graph, compute status: 1$/,
  /^decode: removing memory module entries for seq_id = /,
  /^llama_decode: failed to decode, ret = 2$/,
]

/** Whether a line of the library needs nobody's attention. */
export const isExpected = (line: string): boolean => expected.some((pattern) => pattern.test(line))

function logTo({ call }: Llama, onError: (message: string) => void): void {
  let latest = 0
  const heard = (level: number, text: string) => {
    if (level !== CONTINUED) latest = level
    const message = text.trimEnd()
    if (latest < WARNING || message === '' || isExpected(message)) return
    if (latest === ERROR) onError(message.trim())
    process.stderr.write(`${message}\n`)
  }
  call.llama_log_set(koffi.register(heard, 'ggml_log_function *'), null)
}
