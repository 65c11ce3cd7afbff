import { createPrivateKey, type KeyObject, randomUUID } from "node:crypto";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { OAuthContext } from "../oauth-context.js";

/** How a client authenticates at the token endpoint. */
export type ClientAuthentication = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** A client of an authorization server. */
export interface OAuthClient {
  /** Its origin: the configuration, a document whose url is its id, or our own registration. */
  readonly kind: "configured" | "metadata-document" | "registered";
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** Its signing key, for private_key_jwt. */
  readonly key?: ClientKey | undefined;
  readonly authentication: ClientAuthentication;
}

interface ClientKey {
  readonly privateKey: KeyObject;
  /** The JWS algorithm. */
  readonly algorithm: string;
  readonly keyId?: string | undefined;
}

/** A client that the user registered manually, as configured. */
export interface ConfiguredClient {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** Obtains the secret each time the client is needed, and registers it. Default: `clientSecret`. */
  readonly readSecret?: (() => Promise<string>) | undefined;
  /** A private key in PEM (PKCS #8), for private_key_jwt. */
  readonly privateKey?: string | undefined;
  /** The signing algorithm. Default: by the kind of key. */
  readonly algorithm?: string | undefined;
  readonly keyId?: string | undefined;
  /** How it authenticates. Default: by its secret or key, and by what the authorization server supports. */
  readonly authentication?: ClientAuthentication | undefined;
}

/** Parses a private key. Throws a TypeError, which shows nothing of it, if it cannot sign. */
export function readClientKey({ privateKey, algorithm, keyId }: ConfiguredClient): ClientKey | undefined {
  if (privateKey === undefined) return undefined;
  let key: KeyObject;
  try {
    key = createPrivateKey(privateKey);
  } catch {
    throw new TypeError("The private key of the client is not a readable PEM key. Use PKCS #8 without a passphrase.");
  }
  const [preferred, ...others] = algorithmsOf(key);
  if (preferred === undefined)
    throw new TypeError(
      "A private key of this kind is not supported. Use EC (P-256, P-384 or P-521), RSA of at least 2048 bits, or Ed25519.",
    );
  const found = algorithm ?? preferred;
  if (![preferred, ...others].includes(found))
    throw new TypeError(
      `The private key of the client cannot sign with the algorithm ${found}. Use ${[preferred, ...others].join(", ")}.`,
    );
  return { privateKey: key, algorithm: found, keyId };
}

/** The algorithms that a key can sign with, the default first. */
function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly string[] {
  const { namedCurve = "", modulusLength = 0 } = asymmetricKeyDetails ?? {};
  switch (asymmetricKeyType) {
    case "ec":
      return { prime256v1: ["ES256"], secp384r1: ["ES384"], secp521r1: ["ES512"] }[namedCurve] ?? [];
    case "rsa":
      return modulusLength < 2048 ? [] : ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
    case "rsa-pss":
      return modulusLength < 2048 ? [] : ["PS256", "PS384", "PS512"];
    case "ed25519":
      return ["EdDSA", "Ed25519"];
    default:
      return [];
  }
}

/** The authentication method of a client at a server that supports these methods. */
export function chooseAuthentication(
  { clientSecret, key }: Pick<OAuthClient, "clientSecret" | "key">,
  offered: readonly string[] | undefined,
): ClientAuthentication {
  if (key !== undefined) return "private_key_jwt";
  if (clientSecret === undefined) return "none";
  if (offered === undefined || offered.includes("client_secret_basic")) return "client_secret_basic";
  return "client_secret_post";
}

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const assertionSeconds = 60;

/** Adds the client authentication to a form, and returns the headers that belong to it. */
export async function authenticateClient(
  { secrets, clock }: Pick<OAuthContext, "secrets" | "clock">,
  { publishedIssuer }: Pick<AuthorizationServer, "publishedIssuer">,
  client: OAuthClient,
  form: URLSearchParams,
): Promise<Record<string, string>> {
  const { clientId, clientSecret = "", key } = client;
  switch (client.authentication) {
    case "client_secret_basic": {
      const credentials = Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString("base64");
      secrets.add(credentials);
      return { authorization: `Basic ${credentials}` };
    }
    case "client_secret_post":
      form.set("client_id", clientId);
      form.set("client_secret", clientSecret);
      return {};
    case "private_key_jwt": {
      if (key === undefined) throw new TypeError("private_key_jwt requires a private key.");
      const now = Math.floor(clock.now() / 1000);
      // Loaded on demand: few clients sign, and loading it would slow down every start.
      const { SignJWT } = await import("jose");
      const assertion = await new SignJWT({})
        .setProtectedHeader({ alg: key.algorithm, ...(key.keyId === undefined ? {} : { kid: key.keyId }) })
        .setIssuer(clientId)
        .setSubject(clientId)
        .setAudience(publishedIssuer)
        .setJti(randomUUID())
        .setIssuedAt(now)
        .setExpirationTime(now + assertionSeconds)
        .sign(key.privateKey);
      secrets.add(assertion);
      form.set("client_id", clientId);
      form.set("client_assertion_type", assertionType);
      form.set("client_assertion", assertion);
      return {};
    }
    default:
      form.set("client_id", clientId);
      return {};
  }
}

/** Form-encodes a string, as RFC 6749 (section 2.3.1) requires before the base64. */
function formEncoded(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

/**
 * The https URL at which the publisher of this build hosts the client-id metadata document; undefined: none is offered to servers unless
 * a user sets `clientMetadataUrl`. The owner of the URL decides where authorization codes for the client may be sent, so it must be one
 * that the publisher controls. `deploy/client-metadata` contains the document and serves it.
 */
export const builtInClientMetadataUrl: string | undefined = undefined;
