import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

type Ending = { after(end: () => unknown): void }

export interface SigningKey {
  kid: string
  private: CryptoKey
  public: CryptoKey
  jwk: JWK
}

export async function newSigningKey(kid: string): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
  return {
    kid,
    private: privateKey,
    public: publicKey,
    jwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' },
  }
}

export interface ForgedIssuer {
  issuer: string
  key: SigningKey
  /** What its jwks_uri answers; undefined is a 500. */
  keys: JWK[] | undefined
  keysAsked: number
  /** What its token endpoint answers as the ID token. */
  idToken: string
  /** Signed with `key` unless stated otherwise. */
  sign(
    claims: Record<string, unknown>,
    header?: { kid?: string; typ?: string },
    key?: CryptoKey,
  ): Promise<string>
}

/** An issuer that says whatever a test wants, well signed or not. */
export async function startForgedIssuer(t: Ending): Promise<ForgedIssuer> {
  const server = createServer((request, response) => {
    const json = (value: unknown) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    const { issuer } = forged
    switch ((request.url ?? '').split('?', 1)[0]) {
      case '/.well-known/openid-configuration':
        return json({
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
          authorization_response_iss_parameter_supported: true,
        })
      case '/keys':
        forged.keysAsked++
        return forged.keys === undefined ? response.writeHead(500).end() : json({ keys: forged.keys })
      case '/token':
        return json({
          access_token: 'opaque',
          token_type: 'Bearer',
          expires_in: 60,
          id_token: forged.idToken,
        })
      default:
        return response.writeHead(404).end()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const key = await newSigningKey('first')
  const forged: ForgedIssuer = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key,
    keys: [key.jwk],
    keysAsked: 0,
    idToken: '',
    sign: (claims, { kid = forged.key.kid, typ = 'JWT' } = {}, signing = forged.key.private) =>
      new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid, typ }).sign(signing),
  }
  return forged
}
