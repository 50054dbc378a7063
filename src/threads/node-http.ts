/**
 * `node:http`, not imported: an import reads every member of it, also `WebSocket`, for which Node loads the whole of undici. Nothing
 * here uses that, and an idle server holds 3 MB less without it.
 */
export const { Agent, IncomingMessage, request } = process.getBuiltinModule('node:http')
