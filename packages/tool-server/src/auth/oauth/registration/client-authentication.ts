import { randomUUID } from "node:crypto";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import type { OAuthContext } from "../oauth-context.js";
import type { OAuthClient } from "./oauth-client.js";

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
