import { createPrivateKey, type KeyObject } from "node:crypto";

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
