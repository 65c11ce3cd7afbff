import { randomUUID } from "node:crypto";
import type { LoggedRequest, QuirkResponse } from "../local-server.js";
import type { Quirk } from "../quirk-table.js";

/** The clients that an authorization server knows. */
export interface ClientRegistry {
  register(request: LoggedRequest): QuirkResponse;
  /** The redirect URIs of a known client, or `any` if they are not checked; undefined for an unknown client. */
  find(clientId: string): { readonly redirectUris: readonly string[] | "any" } | undefined;
  /** Reads the document of a client id that is a url, for a redirect URI, and adds the client if the document is valid. */
  readDocument(clientId: string, redirectUri: string): Promise<void>;
  forget(clientId: string): void;
  forgetAll(): void;
}

/** Fetches a client-id metadata document. Rejects if it cannot be read. */
export type FetchDocument = (url: string) => Promise<Readonly<Record<string, unknown>>>;

export function createClientRegistry(quirks: ReadonlySet<Quirk>, fetchDocument?: FetchDocument): ClientRegistry {
  const clients = new Map<string, { readonly redirectUris: readonly string[] }>();
  return {
    register({ json }) {
      if (quirks.has("registration-absent")) return [404, "no"];
      if (quirks.has("registration-refused")) {
        return [400, { error: "invalid_client_metadata", error_description: "Not you." }];
      }
      const { redirect_uris: redirectUris } = json;
      if (!Array.isArray(redirectUris)) return [400, { error: "invalid_redirect_uri" }];
      const clientId = `client-${randomUUID()}`;
      const secret = quirks.has("registration-secret") ? `secret-${randomUUID()}` : undefined;
      clients.set(clientId, { redirectUris });
      return [
        201,
        {
          ...json,
          client_id: clientId,
          client_secret: secret,
          token_endpoint_auth_method: secret === undefined ? "none" : "client_secret_basic",
        },
      ];
    },
    find(clientId) {
      const isDocument = quirks.has("takes-metadata-documents") && clientId.startsWith("https://");
      if (isDocument && fetchDocument === undefined) return { redirectUris: "any" };
      return clients.get(clientId);
    },
    async readDocument(clientId, redirectUri) {
      if (!quirks.has("takes-metadata-documents") || !clientId.startsWith("https://")) return;
      try {
        const {
          client_id: id,
          redirect_uris: uris,
          token_endpoint_auth_method: method,
        } = (await fetchDocument?.(clientId)) ?? {};
        // RFC 8252 (section 7.3): any port of a loopback redirect is allowed.
        const isKnown = Array.isArray(uris) && uris.includes(redirectUri.replace(/:\d+(?=\/)/, ""));
        if (id === clientId && method === "none" && isKnown) clients.set(clientId, { redirectUris: [redirectUri] });
      } catch {
        clients.delete(clientId);
      }
    },
    forget: (clientId) => void clients.delete(clientId),
    forgetAll: () => clients.clear(),
  };
}

/** The client id of a request, from its form or its Basic credentials. */
export function clientIdOf({ form, headers }: LoggedRequest): string {
  const basic = /^Basic (.+)$/.exec(headers.authorization ?? "")?.[1];
  if (basic === undefined) return form.get("client_id") ?? "";
  return decodeURIComponent(Buffer.from(basic, "base64").toString("utf8").split(":")[0] ?? "");
}
