import { z } from 'zod'
import { type Routes, refusalContracts } from '../../http/contracts.ts'
import { requireOwnOrigin } from '../../http/cross-origin/origins.ts'
import type { OperationParts } from '../parts.ts'
import { McpMessage, McpQuery } from './contract.ts'

/**
 * The Model Context Protocol over streamable HTTP. Each request stands for itself: there are no sessions. Tools and the
 * protocol's package are loaded with the first request.
 */

const Message = z.looseObject({ jsonrpc: z.literal('2.0') })

export const mcpRoutes: Routes<OperationParts> = async (app, { mcp, refScheme }) => {
  if (mcp === 'off') return
  let opened: Promise<import('./server.ts').McpServing> | undefined
  app.addHook('onClose', async () => (await opened)?.close())
  app.post(
    '/mcp',
    {
      // What a tool does is asked of the route behind it.
      config: { right: 'own', contract: 'operations/mcp/contract#McpMessage' },
      schema: {
        summary: 'Serve tools to agents, by the Model Context Protocol',
        description: 'docs/mcp.md lists the tools, and how to add the server to an agent.',
        tags: ['mcp'],
        querystring: McpQuery,
        body: McpMessage,
        response: {
          200: {
            description: 'The response to a request.',
            content: { 'application/json': { schema: Message }, 'text/event-stream': { schema: Message } },
          },
          202: z.unknown().describe('A notification was accepted.'),
          ...refusalContracts(
            'malformed_json',
            'origin_forbidden',
            'route_not_found',
            'body_too_large',
            'unsupported_media_type',
            'invalid_request',
          ),
        },
      },
      onRequest: async (request, reply) => requireOwnOrigin(request, reply),
    },
    async (request, reply) => {
      opened ??= import('./server.ts').then(({ openMcp }) => openMcp(app, refScheme))
      const isReadOnly = mcp === 'read_only' || request.query.read_only === '1'
      return (await opened).answer(request, reply, isReadOnly)
    },
  )
}
