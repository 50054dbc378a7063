import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { Refusal } from '../../domain/refusals.ts'

const style = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}body{max-width:34rem;margin:18vh auto;padding:0 1.5rem}a{color:inherit}`

const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`

const escaped = (text: string) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

/** What a browser shows that could not sign in. It needs nothing else of the page. */
export function sendRefusalPage(reply: FastifyReply, refusal: Refusal, again: string): FastifyReply {
  if (refusal.status === 503) reply.header('retry-after', '5')
  return reply
    .code(refusal.status)
    .headers({
      'content-security-policy': policy,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
    .type('text/html; charset=utf-8')
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Heddle: not signed in</title><style>${style}</style><main><h1>Not signed in</h1><p>${escaped(refusal.message)}<p><a href="${escaped(again)}">Back to the sign-in</a></main></html>`,
    )
}
