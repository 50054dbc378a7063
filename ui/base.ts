const icon = globalThis.document?.querySelector('link[rel="icon"]')?.getAttribute('href') ?? ''

/** What stands before the paths of the page behind a proxy that removes it; the server writes it into the page. */
export const base = icon.endsWith('/ui/icon.svg') ? icon.slice(0, -'/ui/icon.svg'.length) : ''

/** For programs. */
export const serverUrl = (): string => location.origin + base
