import type { LoggedRequest, QuirkResponse } from "../local-server.js";
import type { Quirk } from "../quirk-table.js";
import type { ClientRegistry } from "./client-registry.js";
import { grantOf, type TokenStore } from "./token-store.js";

/** The page on which a person allows or denies a request. Its form posts `decision=allow`, or another value, to the same URL. */
export interface ConsentPage {
  readonly headers: Readonly<Record<string, string>>;
  render(query: URLSearchParams): string;
}

export interface AuthorizeParts {
  readonly quirks: ReadonlySet<Quirk>;
  readonly issuer: string;
  readonly clients: ClientRegistry;
  readonly tokens: TokenStore;
  readonly consentPage: ConsentPage | undefined;
}

const page = { "content-type": "text/html" };

/** The response of the authorization endpoint. Without a consent page, every user is signed in and consents. */
export function authorize(parts: AuthorizeParts, request: LoggedRequest): QuirkResponse {
  const { quirks, issuer, clients, tokens, consentPage } = parts;
  const { query } = request;
  const has = (quirk: Quirk): boolean => quirks.has(quirk);
  const redirectUri = query.get("redirect_uri") ?? "";
  const client = clients.find(query.get("client_id") ?? "");
  if (client === undefined) return [400, "<h1>invalid_client</h1>", page];
  const isKnown = client.redirectUris === "any" || client.redirectUris.includes(redirectUri);
  const back = isKnown ? parseUrl(redirectUri) : undefined;
  if (back === undefined) return [400, "<h1>redirect_uri did not match</h1>", page];
  const isPost = request.method === "POST";
  if (consentPage !== undefined && !isPost) return [200, consentPage.render(query), consentPage.headers];
  const isDenied = consentPage !== undefined && request.form.get("decision") !== "allow";
  const state = query.get("state") ?? "";
  back.searchParams.set("state", has("redirect-wrong-state") ? `${state}x` : state);
  const isWrong = has("redirect-wrong-issuer") || has("redirect-error-wrong-issuer");
  if (!has("redirect-issuer-missing")) {
    const endsWithSlash = has("redirect-issuer-normalized") || has("metadata-issuer-slash");
    const named = endsWithSlash ? `${issuer}/` : issuer;
    back.searchParams.set("iss", isWrong ? "https://evil.example" : named);
  }
  if (isDenied || has("redirect-denied") || has("redirect-error-wrong-issuer") || has("redirect-script")) {
    const description = has("redirect-script")
      ? "<script>alert(document.domain)</script>"
      : "The user denied the request.";
    back.searchParams.set("error", "access_denied");
    back.searchParams.set("error_description", description);
  } else {
    const challenge = query.get("code_challenge") ?? "";
    back.searchParams.append("code", tokens.storeCode({ grant: grantOf(request), challenge, redirectUri }));
    if (has("redirect-twice-code")) back.searchParams.append("code", "another");
  }
  return [isPost ? 303 : 302, "", { location: back.href }];
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
