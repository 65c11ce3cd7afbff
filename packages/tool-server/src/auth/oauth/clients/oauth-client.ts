import { createPrivateKey, type KeyObject, randomUUID } from "node:crypto";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import type { OAuthContext } from "../oauth-context.js";

/** How a client shows at the token endpoint who it is. */
export type ClientAuthentication = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** A client as an authorization server knows it. */
export interface OAuthClient {
  /** Where it comes from: the configuration, a document at a url that is its id, or a registration of ours. */
  readonly kind: "configured" | "metadata-document" | "registered";
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** The key that it signs with, for private_key_jwt. */
  readonly key?: ClientKey | undefined;
  readonly authentication: ClientAuthentication;
}

export interface ClientKey {
  readonly privateKey: KeyObject;
  /** The algorithm of JWS. */
  readonly algorithm: string;
  readonly keyId?: string | undefined;
}

/** A client that the user registered by hand, as the configuration has it. */
export interface ConfiguredClient {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** A private key in PEM (PKCS #8), for private_key_jwt. */
  readonly privateKey?: string | undefined;
  /** The algorithm to sign with; default: by the kind of key. */
  readonly algorithm?: string | undefined;
  readonly keyId?: string | undefined;
  /** How it authenticates; default: by what it has, and what the authorization server takes. */
  readonly authentication?: ClientAuthentication | undefined;
}

/** Reads a private key. Throws a TypeError that shows nothing of it where it is none that can sign. */
export function readClientKey({ privateKey, algorithm, keyId }: ConfiguredClient): ClientKey | undefined {
  if (privateKey === undefined) return undefined;
  let key: KeyObject;
  try {
    key = createPrivateKey(privateKey);
  } catch {
    throw new TypeError(
      "The private key of the client is no key in PEM that can be read. Give it as PKCS #8, without a passphrase.",
    );
  }
  const found = algorithm ?? algorithmOf(key);
  if (found === undefined)
    throw new TypeError(`A private key of the kind ${key.asymmetricKeyType} cannot sign here. Use EC, RSA or Ed25519.`);
  return { privateKey: key, algorithm: found, keyId };
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | undefined {
  switch (asymmetricKeyType) {
    case "ec":
      return { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" }[asymmetricKeyDetails?.namedCurve ?? ""];
    case "rsa":
      return "RS256";
    case "rsa-pss":
      return "PS256";
    case "ed25519":
      return "EdDSA";
    default:
      return undefined;
  }
}

/** The way in which a client with these means authenticates at a server that takes these methods. */
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

/** Puts into a request what shows who the client is, and gives the headers that belong to it. */
export async function authenticateClient(
  { secrets, clock }: Pick<OAuthContext, "secrets" | "clock">,
  { issuer }: Pick<AuthorizationServer, "issuer">,
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
      if (key === undefined) throw new TypeError("A client that signs needs a private key.");
      const now = Math.floor(clock.now() / 1000);
      // Loaded late: few sign anything, and every start would wait for it.
      const { SignJWT } = await import("jose");
      const assertion = await new SignJWT({})
        .setProtectedHeader({ alg: key.algorithm, ...(key.keyId === undefined ? {} : { kid: key.keyId }) })
        .setIssuer(clientId)
        .setSubject(clientId)
        .setAudience(issuer)
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

/** A text as a form has it, which RFC 6749 (2.3.1) asks for before the base64. */
function formEncoded(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}
