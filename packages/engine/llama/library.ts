import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import koffi from 'koffi'
import { aliases, type Calls, type FunctionName, type LaterCalls, opaque, prototypes } from './prototypes.ts'
import { batch, contextParams, modelParams, poolParams, poolThreads, unusual } from './structs.ts'

/** The version of llama.cpp in the pinned node-llama-cpp, whose headers structs.ts and prototypes.ts follow. */
export const release = '0.5.0'

const structs = {
  llama_model_params: modelParams,
  llama_context_params: contextParams,
  ggml_threadpool_params: poolParams,
  llama_batch: batch,
}

export interface Llama {
  call: Calls
  later: LaterCalls
  /** The address of a function, to be given to another. */
  addressOf(name: 'ggml_is_empty'): bigint
}

/** llama.cpp tokenizes by `std::regex`, which recurses for each letter: as much room as koffi allows. */
const stackBytes = 16 * 2 ** 20

let opened: { folder: string; llama: Llama } | undefined

/** Opens the libraries of a build, once for the process; refuses any other version than the pinned one. */
export function openLibraries(folder: string): Llama {
  if (opened?.folder === folder) return opened.llama
  if (opened !== undefined) throw new Error(`this process already uses the build in ${opened.folder}`)
  // One call at a time runs beside JavaScript, so one stack is enough for all.
  koffi.config({ sync_stack_size: stackBytes, async_stack_size: stackBytes, resident_async_pools: 1 })
  declareTypes()
  const files = readdirSync(folder)
  const libraries = new Map(
    Object.keys(prototypes).map((name) => [name, koffi.load(join(folder, fileOf(name, files)))]),
  )
  const called: Record<string, unknown> = {}
  const calledLater: Record<string, unknown> = {}
  for (const [library, texts] of Object.entries(prototypes)) {
    for (const text of texts) {
      const call = libraries.get(library)?.func(text)
      const name = nameIn(text)
      called[name] = call
      calledLater[name] = (...values: unknown[]) =>
        new Promise((resolve, reject) => {
          call?.async(...values, (error: Error | null, result: unknown) =>
            error === null ? resolve(result) : reject(error),
          )
        })
    }
  }
  const llama = {
    call: called as Calls,
    later: calledLater as LaterCalls,
    addressOf: (name: string) => libraries.get('ggml-base')?.symbol(name),
  }
  check(llama.call, folder)
  opened = { folder, llama }
  return llama
}

const nameIn = (text: string) => (/(\w+)\(/.exec(text)?.[1] ?? '') as FunctionName

/** `libllama.v0.5.0.so`, `llama.dll`, `libllama.dylib` … */
function fileOf(name: string, files: readonly string[]): string {
  const file = files.find((other) =>
    new RegExp(`^(lib)?${name}(\\.v?[\\d.]+)?\\.(so|dylib|dll)$`).test(other),
  )
  if (file === undefined) throw new Error(`the build of llama.cpp has no library ${name}`)
  return file
}

function declareTypes(): void {
  for (const name of opaque) koffi.opaque(name)
  for (const [name, type] of Object.entries(aliases)) koffi.alias(name, type)
  koffi.proto('void ggml_log_function(int32_t level, char *text, void *user_data)')
  koffi.alias('ggml_log_callback', 'ggml_log_function *')
  koffi.proto('bool llama_progress_callback(float progress, void *user_data)')
  for (const [name, fields] of Object.entries(structs)) {
    koffi.struct(name, Object.fromEntries(Object.entries(fields).map(([field, [type]]) => [field, type])))
  }
}

/** Another version of the library has other fields, and reading or writing them would end the process, or worse. */
function check(call: Calls, folder: string): void {
  const version = call.llama_version()
  if (version?.split('-')[0] !== release) {
    throw new Error(`the llama.cpp in ${folder} has version ${version}; accepted: ${release}`)
  }
  const differing = [
    ...unusual(modelParams, call.llama_model_default_params()),
    ...unusual(contextParams, call.llama_context_default_params()),
    ...unusual(poolParams, call.ggml_threadpool_params_default(poolThreads)),
  ]
  if (differing.length > 0) {
    throw new Error(`the llama.cpp in ${folder} differs from that of ${release} in ${differing.join(', ')}`)
  }
}
