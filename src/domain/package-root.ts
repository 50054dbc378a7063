import { findPackageJSON } from 'node:module'
import { pathToFileURL } from 'node:url'

/** The folder of package.json: the checkout, or the installed package, where the code is in dist/src. */
export const packageRoot = new URL('.', pathToFileURL(findPackageJSON(import.meta.url) as string))
