// Loaded with --import into a server: lists the files of src that its main thread loads, in the file of LOADED_MODULES.
import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const list = process.env.LOADED_MODULES
const src = new URL('../../src/', import.meta.url).href
if (isMainThread && process.send === undefined && list !== undefined) {
  registerHooks({
    load(url, context, nextLoad) {
      if (url.startsWith(src)) appendFileSync(list, `${url.slice(src.length)}\n`)
      return nextLoad(url, context)
    },
  })
}
