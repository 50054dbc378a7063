import { readdir } from 'node:fs/promises'
import { join, sep } from 'node:path'

/** Where models of the hub are kept, below the data folder. */
export function modelsFolder(data: string): string {
  return join(data, 'models')
}

export function repositoryFolder(data: string, repository: string): string {
  return join(modelsFolder(data), ...repository.split('/'))
}

/** The whole models of a folder, by their paths in it, with `/`. What is still on its way has another ending. */
export async function storedModels(folder: string): Promise<string[]> {
  try {
    const found = await readdir(folder, { recursive: true })
    return found
      .filter((path) => /\.gguf$/i.test(path))
      .map((path) => path.split(sep).join('/'))
      .toSorted()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
    throw error
  }
}
