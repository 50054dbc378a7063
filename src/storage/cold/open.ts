import { type ColdSettings, type ColdStore, folderStore } from './store.ts'

/** Undefined if there is none. */
export async function openColdStore(settings: ColdSettings): Promise<ColdStore | undefined> {
  const { cold_store } = settings
  if (cold_store === '') return undefined
  if (!cold_store.startsWith('s3://')) return folderStore(cold_store)
  // Most servers have no bucket.
  const { s3Store } = await import('./s3.ts')
  return s3Store(settings)
}
