import type { AuthorizationServer } from "./authorization-server.js";
import { knownIssuer } from "./known-issuers.js";

/** What a user may set for the requests to the authorization server of a tool server. */
export interface RequestSettings {
  /** Parameters to add to authorization requests, such as `audience`. They replace none of those that every request has. */
  readonly authorizeParameters?: Readonly<Record<string, string>> | undefined;
  /** The resource to request tokens for (RFC 8707), or false to name none. Default: as the tool server publishes it. */
  readonly resource?: string | false | undefined;
  /** Whether to use PKCE although the metadata of the authorization server does not list S256. Default false: the sign-in fails. */
  readonly assumePkce?: boolean | undefined;
  /** The `prompt` of authorization requests, such as `consent`. Default none. */
  readonly prompt?: string | undefined;
}

/** How the requests to an authorization server are built. */
export interface RequestRules {
  /** The resource of the token (RFC 8707); undefined to send none. */
  readonly resource: string | undefined;
  readonly usesPkce: boolean;
  readonly prompt: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
}

/** The rules for requests to a server, for the resource that the tool server publishes. Settings take precedence over what is known. */
export function requestRules(
  { issuer, offersPkce }: Pick<AuthorizationServer, "issuer" | "offersPkce">,
  resource: string,
  settings: RequestSettings,
): RequestRules {
  const { hasPkce = false, rejectsResource = false, parameters } = knownIssuer(issuer) ?? {};
  const sent = settings.resource ?? (rejectsResource ? false : resource);
  return {
    resource: sent === false ? undefined : sent,
    usesPkce: offersPkce || hasPkce || settings.assumePkce === true,
    prompt: settings.prompt,
    parameters: { ...parameters, ...settings.authorizeParameters },
  };
}
