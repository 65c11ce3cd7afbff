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

/** A key that tokens are bound to (DPoP, RFC 9449): who has the token alone cannot use it. */
export interface ProofKey {
  readonly privateKey: KeyObject;
  readonly publicJwk: JWK;
  readonly thumbprint: string;
}

/** The one algorithm that proofs are signed with; every server that binds tokens takes it. */
const proofAlgorithm = "ES256";

/** A new key, whose secret part is made known to the registry. */
export async function createProofKey(context: Pick<OAuthContext, "secrets">): Promise<ProofKey> {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return keyOf(context, privateKey);
}

/** A key as it rests in a vault. */
export function proofKeyToJson({ privateKey }: ProofKey): JsonObject {
  const { kty, crv, x, y, d } = privateKey.export({ format: "jwk" });
  return Object.fromEntries(
    Object.entries({ kty, crv, x, y, d }).filter(([, value]) => value !== undefined),
  ) as JsonObject;
}

/** The key that was kept; undefined where it is none. */
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
  /** What the server demanded to see in the next proof. */
  readonly nonce?: string | undefined;
  /** The token that the proof goes with; none at the token endpoint. */
  readonly accessToken?: string | undefined;
}

/** A proof for one request; never to be sent twice. */
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
  // Loaded late: few sign anything, and every start would wait for it.
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
