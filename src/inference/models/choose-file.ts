import { ModelError } from './model-error.ts'

/** The order of preference when the setting names no quantization: good answers for their size. */
const usual = ['Q4_K_M', 'Q4_K_S', 'Q5_K_M', 'Q4_0', 'Q8_0', 'Q6_K', 'F16', 'BF16']

const splitName = /-(\d{5})-of-(\d{5})\.gguf$/i
/** Projectors and importance matrices are stored next to models. */
const companion = /(^|[/._-])(mmproj|imatrix)([/._-]|$)/i

/** One of a repository's GGUF files: by its name, by its quantization, or the usual one. */
export function chooseFile(repository: string, wanted: string | undefined, files: readonly string[]): string {
  const named = wanted !== undefined && /\.gguf$/i.test(wanted)
  const models = named ? files : files.filter((path) => !companion.test(path))
  if (models.length === 0 && !named) {
    throw new ModelError(`${repository} has no .gguf file; accepted: repositories with GGUF models.`)
  }
  const found = named ? byName(models, wanted) : byQuantization(models, wanted)
  if (found === undefined) {
    const what = wanted === undefined ? 'several models and none of the usual kinds' : `no ${wanted}`
    throw new ModelError(`${repository} has ${what}; accepted after its name and a colon: ${listed(models)}.`)
  }
  const [, , count] = splitName.exec(found) ?? []
  if (count !== undefined) {
    throw new ModelError(
      `${repository}: ${found} is one of ${Number(count)} files of a split model; accepted: models in one file (${listed(models)}).`,
    )
  }
  return found
}

function byName(files: readonly string[], wanted: string): string | undefined {
  if (files.includes(wanted)) return wanted
  const inFolders = files.filter((path) => path.endsWith(`/${wanted}`))
  return inFolders.length === 1 ? inFolders[0] : undefined
}

function byQuantization(files: readonly string[], wanted: string | undefined): string | undefined {
  for (const quantization of wanted === undefined ? usual : [wanted]) {
    const [first] = files
      .filter((path) => names(path, quantization))
      // `UD-Q4_K_M` is a variant of Q4_K_M: the plain one, with the shorter path, is preferred.
      .toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1))
    if (first !== undefined) return first
  }
  return wanted === undefined && files.length === 1 ? files[0] : undefined
}

/** Whether the path contains the quantization as a whole word. */
function names(path: string, quantization: string): boolean {
  const escaped = quantization.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`(^|[-./_])${escaped}([-./]|$)`, 'i').test(path)
}

function listed(files: readonly string[]): string {
  const single = files.filter((path) => !splitName.test(path))
  if (single.length === 0) return 'none of them is here'
  const shown = single.slice(0, 20).join(', ')
  return single.length > 20 ? `${shown} and ${single.length - 20} more` : shown
}
