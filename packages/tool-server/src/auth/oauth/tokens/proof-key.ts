import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomUUID,
} from "node:crypto";
import type { JWK } from "jose";
import { type JsonObject, stringOf } from "../../../json-object.js";
import type { OAuthContext } from "../oauth-context.js";

/** A key that tokens are bound to (DPoP, RFC 9449): a stolen token cannot be used without it. */
export interface ProofKey {
  readonly privateKey: KeyObject;
  readonly publicJwk: JWK;
  readonly thumbprint: string;
}

/** The only signing algorithm of proofs; every server that binds tokens supports it. */
const proofAlgorithm = "ES256";

/** A new key. Its private part is added to the secrets. */
export async function createProofKey(context: Pick<OAuthContext, "secrets">): Promise<ProofKey> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return keyOf(context, privateKey);
}

/** A key in its stored form. */
export function proofKeyToJson({ privateKey }: ProofKey): JsonObject {
  const { kty, crv, x, y, d } = privateKey.export({ format: "jwk" });
  return Object.fromEntries(
    Object.entries({ kty, crv, x, y, d }).filter(([, value]) => value !== undefined),
  ) as JsonObject;
}

/** Parses a stored key; undefined if it is invalid. */
export async function proofKeyOf(
  context: Pick<OAuthContext, "secrets">,
  json: JsonObject,
): Promise<ProofKey | undefined> {
  const d = stringOf(json.d);
  if (d === undefined) return undefined;
  context.secrets.add(d);
  try {
    return await keyOf(context, createPrivateKey({ key: { ...json } as JsonWebKey, format: "jwk" }));
  } catch {
    return undefined;
  }
}

export interface ProofSubject {
  readonly method: string;
  readonly url: URL;
  /** The nonce that the server demanded. */
  readonly nonce?: string | undefined;
  /** The token that is sent with the proof; none at the token endpoint. */
  readonly accessToken?: string | undefined;
}

/** A proof for one request; it must not be sent twice. */
export async function createProof(
  { clock }: Pick<OAuthContext, "clock">,
  { privateKey, publicJwk }: ProofKey,
  { method, url, nonce, accessToken }: ProofSubject,
): Promise<string> {
  const claims = {
    htm: method,
    htu: `${url.origin}${url.pathname}`,
    ...(nonce === undefined ? {} : { nonce }),
    ...(accessToken === undefined ? {} : { ath: createHash("sha256").update(accessToken).digest("base64url") }),
  };
  // Loaded on demand: few clients sign, and loading it would slow down every start.
  const { SignJWT } = await import("jose");
  return new SignJWT(claims)
    .setProtectedHeader({ typ: "dpop+jwt", alg: proofAlgorithm, jwk: publicJwk })
    .setJti(randomUUID())
    .setIssuedAt(Math.floor(clock.now() / 1000))
    .sign(privateKey);
}

async function keyOf({ secrets }: Pick<OAuthContext, "secrets">, privateKey: KeyObject): Promise<ProofKey> {
  const { d, ...rest } = privateKey.export({ format: "jwk" });
  if (d !== undefined) secrets.add(d);
  const publicJwk = rest as JWK;
  const { calculateJwkThumbprint } = await import("jose");
  return { privateKey, publicJwk, thumbprint: await calculateJwkThumbprint(publicJwk) };
}
