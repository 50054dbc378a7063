/**
 * `node:http` without an import: an import reads every member, including `WebSocket`, for which Node loads all of
 * undici. Nothing here uses that, and an idle server needs 3 MB less without it.
 */
export const { Agent, IncomingMessage, request } = process.getBuiltinModule('node:http')
