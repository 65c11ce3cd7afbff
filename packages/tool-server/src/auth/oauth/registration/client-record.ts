import { parseUrl } from "../../../url.js";
import type { JsonObject } from "../../vault/vault.js";
import { textOf } from "../discovery/json-fields.js";
import type { ClientAuthentication } from "./oauth-client.js";

/** What is kept of a client between sign-ins, by issuer: a registration, and the redirect URI that belongs to it. */
export interface ClientRecord {
  readonly clientId: string;
  /** Exactly as it was registered, with its port. */
  readonly redirectUri: string;
  /** Only of a registration of ours; a configured client's secret stays where it is. */
  readonly registration?:
    | {
        readonly clientSecret?: string | undefined;
        readonly authentication: ClientAuthentication;
        readonly secretExpiresAt?: number | undefined;
      }
    | undefined;
}

export function clientRecordToJson({ clientId, redirectUri, registration }: ClientRecord): JsonObject {
  if (registration === undefined) return { clientId, redirectUri };
  const { clientSecret, authentication, secretExpiresAt } = registration;
  return {
    clientId,
    redirectUri,
    authentication,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(secretExpiresAt === undefined ? {} : { secretExpiresAt }),
  };
}

/** The record that was kept; undefined where it is of another form. */
export function clientRecordOf(json: JsonObject): ClientRecord | undefined {
  const clientId = textOf(json.clientId);
  const redirectUri = textOf(json.redirectUri);
  if (clientId === undefined || redirectUri === undefined || parseUrl(redirectUri) === undefined) return undefined;
  const { authentication, secretExpiresAt } = json;
  if (authentication === undefined) return { clientId, redirectUri };
  if (!isAuthentication(authentication)) return undefined;
  return {
    clientId,
    redirectUri,
    registration: {
      authentication,
      clientSecret: textOf(json.clientSecret),
      secretExpiresAt: typeof secretExpiresAt === "number" ? secretExpiresAt : undefined,
    },
  };
}

function isAuthentication(value: unknown): value is ClientAuthentication {
  return value === "none" || value === "client_secret_basic" || value === "client_secret_post";
}
